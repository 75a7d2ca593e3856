//go:build !linux

package dbtest

import "syscall"

// dieWithParent does nothing: only Linux has a parent-death signal.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}
