package oncetest

import (
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// dieAt has the kernel kill this process where it writes to a file past so many bytes from its beginning. The signal's default
// action is to end the process before the write returns; Go's own handler would let it go on.
func dieAt(limit string) error {
	bytes, err := strconv.ParseUint(limit, 10, 63)
	if err != nil {
		return err
	}
	var byDefault [64]byte // a sigaction of the kernel's is smaller, and all zero is the default action
	_, _, failed := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGXFSZ), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
	if failed != 0 {
		return os.NewSyscallError("sigaction", failed)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return os.NewSyscallError("setrlimit", err)
	}
	var fileSize syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &fileSize); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	fileSize.Cur = bytes
	return os.NewSyscallError("setrlimit", syscall.Setrlimit(syscall.RLIMIT_FSIZE, &fileSize))
}
