package dbtest

import "syscall"

// dieWithParent asks the kernel to send the child this signal, unless another was chosen before, when its parent thread is gone.
func dieWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) {
	if attr.Pdeathsig == 0 {
		attr.Pdeathsig = signal
	}
}
