package dbtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	startWithin = 60 * time.Second // a shared machine under load, a crash recovery included
	stopWithin  = 20 * time.Second
	logTailMax  = 2000 // bytes of a server's log quoted in an error
)

// errExited says that a server ended before it was ready; another port may help.
var errExited = errors.New("ended before it was ready")

// server is one private server process and its children. A kind of database embeds it and says how it is started, when it is ready and
// which signals it understands; everything else is the same for all of them. Its methods may be called from any goroutine.
type server struct {
	name        string              // the program, for messages
	dir         string              // the server's own; the log is in it
	account     *syscall.Credential // nil: our own
	program     string
	arguments   []string
	scripts     string             // a folder with programs that the server runs; none if it is empty
	ready       func(pid int) bool // the process with this id accepts connections
	stopSignal  syscall.Signal     // an orderly end, without waiting for clients
	deathSignal syscall.Signal     // an end at once; also what the kernel sends when this process dies

	mu      sync.Mutex
	process *os.Process
	ended   chan struct{} // closed when process has been waited for
}

// Start starts the server again after [Postgres.Stop] or [Postgres.Kill], with its data and its address, and returns when it accepts connections.
func (s *server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		return nil
	}
	if err := s.launch(); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	if err := s.awaitReady(); err != nil {
		s.killLocked()
		return fmt.Errorf("start %s: %w; its log ends:\n%s", s.name, err, s.logTail())
	}
	return nil
}

// Stop ends the server in an orderly way, without waiting for its clients. The data stay until the end of the test.
func (s *server) Stop() {
	s.end(s.stopSignal)
}

// Kill ends the server and all its children with SIGKILL: a crash. It returns when they are gone. The data stay until the end of the test.
func (s *server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killLocked()
}

// Pause makes the server hang: it and its children stand still, and connections stay open, until [Postgres.Resume]. The kernel
// still accepts new connections for it, which then wait too.
func (s *server) Pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return
	}
	for _, child := range s.haltLocked() {
		halt(child)
	}
}

// Resume ends a pause.
func (s *server) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running() {
		s.resumeLocked()
	}
}

// remove ends the server as fast as it can without leaving anything behind, and deletes its data.
func (s *server) remove() error {
	s.end(s.deathSignal)
	return os.RemoveAll(s.dir)
}

// end ends the server by a signal, or by SIGKILL if that does not end it soon.
func (s *server) end(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running() {
		return
	}
	s.resumeLocked()
	_ = s.process.Signal(signal)
	select {
	case <-s.ended:
	case <-time.After(stopWithin):
		s.killLocked()
	}
}

// haltLocked stops the parent and returns its children. Only a parent that stands still has no child that the list lacks.
func (s *server) haltLocked() (children []int) {
	halt(s.process.Pid)
	return childrenOf(s.process.Pid)
}

func (s *server) resumeLocked() {
	signalAll(append(childrenOf(s.process.Pid), s.process.Pid), syscall.SIGCONT)
}

func (s *server) killLocked() {
	if !s.running() {
		return
	}
	children := s.haltLocked()
	signalAll(append(children, s.process.Pid), syscall.SIGKILL)
	<-s.ended
	waitGone(children) // they hold the shared memory that the next start wants
}

func (s *server) running() bool {
	if s.process == nil {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// launch starts the process, and a goroutine that waits for its end.
func (s *server) launch() error {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := s.command(s.program, s.arguments...)
	cmd.Stdout, cmd.Stderr = log, log
	dieWithParent(cmd.SysProcAttr, s.deathSignal)
	if err := Spawn(cmd); err != nil {
		return err
	}
	ended := make(chan struct{})
	s.process, s.ended = cmd.Process, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return nil
}

// command makes a command that runs as the server's account in its directory and sees nothing of our environment.
func (s *server) command(program string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Dir = s.dir
	path := "/usr/sbin:/usr/bin:/sbin:/bin"
	if s.scripts != "" {
		path = s.scripts + ":" + path
	}
	cmd.Env = []string{"PATH=" + path, "HOME=" + s.dir, "LC_ALL=C.UTF-8", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account}
	return cmd
}

func (s *server) awaitReady() error {
	deadline := time.Now().Add(startWithin)
	for time.Now().Before(deadline) {
		if !s.running() {
			return errExited
		}
		if s.ready(s.process.Pid) {
			return nil
		}
		time.Sleep(pollEvery)
	}
	return fmt.Errorf("not ready within %s", startWithin)
}

func (s *server) logPath() string { return filepath.Join(s.dir, "log") }

func (s *server) logTail() []byte {
	log, _ := os.ReadFile(s.logPath())
	return log[max(0, len(log)-logTailMax):]
}

// freePort returns a loopback port that nobody listens on. It lies below the range that the kernel takes client ports from: there, a client
// that dials the port while the server is down could be given that very port and connect to itself.
func freePort() (int, error) {
	for range 100 {
		port := 20000 + rand.IntN(12000)
		listener, err := net.Listen("tcp", loopback(port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.New("no free port found")
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
