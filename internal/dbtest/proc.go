package dbtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pollEvery paces the few waits that the kernel offers no signal for.
const pollEvery = time.Millisecond

// stat returns the state letter and the parent of a process. It is false where the process, or /proc, does not exist.
func stat(pid int) (state byte, parent int, ok bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	// pid (command) state parent …; the command may itself hold spaces and parentheses.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	parent, err = strconv.Atoi(fields[1])
	return fields[0][0], parent, err == nil
}

// processes returns the ids of all processes for which keep is true.
func processes(keep func(pid int) bool) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && keep(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func childrenOf(parent int) []int {
	return processes(func(pid int) bool {
		_, of, ok := stat(pid)
		return ok && of == parent
	})
}

// workingUnder returns the processes whose working directory is inside dir, as far as this user may look.
func workingUnder(dir string) []int {
	return processes(func(pid int) bool {
		cwd, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
		return err == nil && strings.HasPrefix(cwd, dir+string(filepath.Separator))
	})
}

// halt stops a process and returns when it stands still.
func halt(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for state, _, ok := stat(pid); ok && state != 'T' && state != 'Z'; state, _, ok = stat(pid) {
		time.Sleep(pollEvery)
	}
}

func signalAll(pids []int, signal syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}

// waitGone returns when every process has ended. A zombie has: its files and memory are released.
func waitGone(pids []int) {
	for _, pid := range pids {
		for state, _, ok := stat(pid); ok && state != 'Z'; state, _, ok = stat(pid) {
			time.Sleep(pollEvery)
		}
	}
}
