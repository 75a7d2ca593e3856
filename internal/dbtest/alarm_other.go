//go:build !linux

package dbtest

import "time"

// alarm waits for a moment as well as time.Sleep can.
type alarm struct{}

func (alarm) wait(until time.Time) { time.Sleep(time.Until(until)) }

func (alarm) close() {}
