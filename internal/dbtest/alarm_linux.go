package dbtest

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

const (
	clockMonotonic = 1
	// wakeTakes is how long it takes, on a core that slept, from the kernel's timer to the write that it lets through. It is
	// the median measured on a small virtual machine.
	wakeTakes = 70 * time.Microsecond
)

// alarm waits for a moment with the kernel's high-resolution timer, through a file that the Go runtime polls like a connection. time.Sleep
// in an idle process is up to 1 ms late. The zero value works; it is for one goroutine.
type alarm struct {
	file *os.File
	fd   uintptr
}

// wait returns at the given moment, at once if it has passed. If the kernel refuses a timer it falls back on time.Sleep.
func (a *alarm) wait(until time.Time) {
	left := time.Until(until) - wakeTakes
	if left <= 0 {
		return
	}
	if a.file == nil {
		a.open()
	}
	if a.file == nil || a.set(left) != 0 {
		time.Sleep(left)
		return
	}
	var expirations [8]byte
	_, _ = a.file.Read(expirations[:])
}

func (a *alarm) open() {
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, clockMonotonic, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno == 0 {
		a.file, a.fd = os.NewFile(fd, "timer"), fd
	}
}

// set makes the file readable once, after so long.
func (a *alarm) set(after time.Duration) syscall.Errno {
	value := [2]syscall.Timespec{{}, syscall.NsecToTimespec(int64(after))} // struct itimerspec: interval, first
	_, _, errno := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, a.fd, 0, uintptr(unsafe.Pointer(&value)), 0, 0, 0)
	return errno
}

func (a *alarm) close() {
	if a.file != nil {
		_ = a.file.Close()
	}
}
