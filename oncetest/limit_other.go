//go:build !linux

package oncetest

import "errors"

func dieAt(string) error { return errors.New("oncetest: SQLite needs Linux") }
