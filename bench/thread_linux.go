package bench

import (
	"syscall"
	"time"
)

// threadTime is what the calling thread has used so far, in user mode and in the kernel.
func threadTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &usage) // fails for a bad argument only
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
