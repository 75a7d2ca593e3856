package dbtest

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

const (
	homePrefix = "onceward-test-"
	lockName   = "lock"

	memoryFreeBytesMin = 2 << 30
)

// homes are this process's directories for the data of its servers, by the directory in which each lies.
var homes = struct {
	sync.Mutex
	under map[string]string
}{under: map[string]string{}}

// home returns this process's home under temp. The first call makes it, and removes those of processes that died.
func home(temp string) (string, error) {
	homes.Lock()
	defer homes.Unlock()
	if dir, ok := homes.under[temp]; ok {
		return dir, nil
	}
	sweepHomes(temp)
	dir, err := newHome(temp)
	if err == nil {
		homes.under[temp] = dir
	}
	return dir, err
}

// removeHomes removes all homes of this process, when it needs no server any more.
func removeHomes() {
	homes.Lock()
	defer homes.Unlock()
	for temp, dir := range homes.under {
		_ = os.RemoveAll(dir)
		delete(homes.under, temp)
	}
}

// memoryTemp returns a directory in memory for data that need not be durable: making a database is making 300 files, which takes
// 50 ms there and up to 400 ms on a disk. Where memory is short, or TMPDIR says otherwise, it is the usual directory.
func memoryTemp() string {
	const dir = "/dev/shm"
	var free syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(dir, &free) != nil || int64(free.Bavail)*int64(free.Bsize) < memoryFreeBytesMin {
		return os.TempDir()
	}
	return dir
}

// newHome makes a home under temp. A home is locked as long as its process lives: unlike a process id, the lock cannot be mistaken, not
// even by a container that sees the same directory and other processes. It is locked before it gets its name, so that no sweep
// finds it unlocked.
func newHome(temp string) (string, error) {
	dir, err := os.MkdirTemp(temp, fmt.Sprintf("%s%d-", homePrefix, os.Getpid()))
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o711); err != nil { // servers run as another user and must pass through
		return "", err
	}
	unborn, lock := filepath.Join(dir, "new"), filepath.Join(dir, lockName)
	if held, err := tryLock(unborn, os.O_CREATE); err != nil || !held {
		return "", fmt.Errorf("lock %s: %w", dir, err)
	}
	return dir, os.Rename(unborn, lock)
}

// tryLock takes the file's lock without waiting and keeps it until the process ends.
func tryLock(path string, flags int) (held bool, err error) {
	fd, err := syscall.Open(path, flags|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return false, err
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(fd)
		return false, err
	}
	return true, nil
}

// sweepHomes removes the homes under temp whose process is gone, and the processes that were left behind in them: a server that was
// paused when its test was killed cannot end itself.
func sweepHomes(temp string) {
	locks, _ := filepath.Glob(filepath.Join(temp, homePrefix+"*", lockName))
	for _, lock := range locks {
		if abandoned, _ := tryLock(lock, 0); abandoned {
			dir := filepath.Dir(lock)
			signalAll(workingUnder(dir), syscall.SIGKILL)
			_ = os.RemoveAll(dir)
		}
	}
}

// serverDir makes a directory for one server in our home under temp, owned by the account that the server will run as.
func serverDir(temp, name string, account *syscall.Credential) (string, error) {
	parent, err := home(temp)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(parent, name+"-")
	if err == nil && account != nil {
		err = os.Chown(dir, int(account.Uid), int(account.Gid))
	}
	return dir, err
}

// account returns whom a server runs as: the user of that name or "nobody" when we are root (database servers refuse root), else us, which
// is nil.
func account(name string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	found, err := user.Lookup(name)
	if err != nil {
		found, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}
