package dbtest

import (
	"bytes"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Spawn starts cmd so that the kernel ends it when this process ends, however that happens. The signal is SIGKILL unless
// cmd.SysProcAttr names another; the child gets a process group of its own, so that an interrupt at the terminal is ours alone.
func Spawn(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	started := make(chan error)
	spawner() <- func() { started <- cmd.Start() }
	return <-started
}

// spawner runs what it is sent on one OS thread that never ends. The kernel's "parent" in a parent-death signal is the thread that
// forked: a child started by an ordinary goroutine would die when the Go runtime retires that goroutine's thread.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range work {
			start()
		}
	}()
	return work
})

// run runs cmd to its end and returns what it printed to standard output.
func run(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := Spawn(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd.Path, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
