package proofs

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/dbtest"
)

// server is the demo in a process of its own. At the test's end it is asked to stop, and must; its log must not have a key.
type server struct {
	t        *testing.T
	database string
	flags    []string // further ones
	address  atomic.Pointer[string]
	log      bytes.Buffer // of all its lives; read when it has ended

	process *exec.Cmd
	ended   chan struct{}
}

func startServer(t *testing.T, database string, flags ...string) *server {
	t.Helper()
	s := &server{t: t, database: database, flags: flags}
	s.start()
	t.Cleanup(s.stop)
	return s
}

// url is where it listens, in its present life.
func (s *server) url() string { return *s.address.Load() }

// start begins a life of the server and returns when it listens.
func (s *server) start() {
	s.t.Helper()
	flags := append([]string{"demo", "--addr", "127.0.0.1:0", "--database", s.database}, s.flags...)
	cmd := exec.Command(binary(s.t), flags...)
	said := &invitation{at: make(chan string, 1)}
	cmd.Stdout, cmd.Stderr = said, &s.log
	if err := dbtest.Spawn(cmd); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	s.process, s.ended = cmd, ended
	select {
	case url := <-said.at:
		s.address.Store(&url)
	case <-ended:
		s.t.Fatalf("the server ended at its start: %s", s.log.String())
	case <-time.After(patience):
		s.t.Fatal("the server did not start")
	}
}

// kill ends the process as a crash does, at once, and returns when it is gone.
func (s *server) kill() {
	_ = s.process.Process.Signal(syscall.SIGKILL)
	<-s.ended
}

// restart begins a new life after a crash.
func (s *server) restart() {
	s.t.Helper()
	s.kill()
	s.start()
}

func (s *server) stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Error("the server did not stop on SIGTERM")
		s.kill()
	}
	code := s.process.ProcessState.ExitCode()
	killed := code == -1 // by kill
	if code != 0 && !killed {
		s.t.Errorf("the server's exit code is %d", code)
	}
	if strings.Contains(s.log.String(), keyMark) {
		s.t.Error("the server's log has a key in it")
	}
	if s.t.Failed() {
		text := s.log.String()
		s.t.Logf("the server's log ends: …%s", text[max(0, len(text)-3000):])
	}
}

// invitation reads the server's output for where it listens.
type invitation struct {
	mu   sync.Mutex
	text []byte
	at   chan string
}

var listensOn = regexp.MustCompile(`listens on (http://\S+)`)

func (i *invitation) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.text = append(i.text, p...)
	if found := listensOn.FindSubmatch(i.text); found != nil {
		select {
		case i.at <- string(found[1]):
		default:
		}
	}
	return len(p), nil
}
