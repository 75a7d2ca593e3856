package oncetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

// By these the test's binary knows that it is the process that is killed, in which test, and on what database.
const (
	childVariable    = "ONCETEST_CRASH"
	databaseVariable = "ONCETEST_DATABASE"
)

const (
	addressFile = 3 // the child says there where it listens, or why it does not, after noAddress
	noAddress   = "!"
	endTimeout  = 10 * time.Second // for a process to be gone that answers no more
)

// serve is the process that is killed. It ends with its parent, whose end of its standard input closes.
func serve(plan Plan) {
	said := os.NewFile(addressFile, "address")
	handler, err := plan.Open(os.Getenv(databaseVariable))
	if err == nil {
		var listener net.Listener
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err == nil {
			go func() { _ = (&http.Server{Handler: mortal(handler), ReadHeaderTimeout: answerTimeout}).Serve(listener) }()
			_, _ = fmt.Fprintln(said, listener.Addr())
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(said, noAddress+strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	_ = said.Close()
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// mortal sets the limit that a request brings, at which the process is to die.
func mortal(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if limit := r.Header.Get(limitHeader); limit != "" {
			if err := dieAt(limit); err != nil {
				http.Error(w, err.Error(), http.StatusNotImplemented)
				return
			}
			r.Header.Del(limitHeader)
		}
		handler.ServeHTTP(w, r)
	})
}

// process is the test's binary that serves a handler.
type process struct {
	address string
	command *exec.Cmd
	stdin   io.Closer
	output  *tail
	ended   chan struct{}
}

// start runs the test of that name, and no other, as the process that is killed, and returns when it listens.
func start(test, database string) (*process, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	parts := strings.Split(test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	p := &process{output: &tail{}, ended: make(chan struct{})}
	p.command = exec.Command(binary, "-test.run="+strings.Join(parts, "/"), "-test.count=1")
	p.command.Env = append(os.Environ(), childVariable+"="+test, databaseVariable+"="+database)
	p.command.Stdout, p.command.Stderr = p.output, p.output
	p.command.WaitDelay = endTimeout // for who has inherited them
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	said, child, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = said.Close() }()
	p.command.ExtraFiles = []*os.File{child}
	err = p.command.Start()
	_ = child.Close()
	if err != nil {
		return nil, err
	}
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	return p.listening(said)
}

// listening waits until the process has said where it listens.
func (p *process) listening(said *os.File) (*process, error) {
	_ = said.SetReadDeadline(time.Now().Add(startTimeout))
	line, err := bufio.NewReader(said).ReadString('\n')
	line = strings.TrimSpace(line)
	why, failed := strings.CutPrefix(line, noAddress)
	switch {
	case failed:
		err = fmt.Errorf("Plan.Open: %s", why)
	case err != nil && errors.Is(err, io.EOF):
		err = errors.New("the test's binary, run once more, ended without a call of Crash")
	}
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("start: %w\n%s", err, p.said())
	}
	p.address = line
	return p, nil
}

// kill ends the process by SIGKILL and returns when it is gone. There need not be one.
func (p *process) kill() {
	if p == nil {
		return
	}
	_ = p.command.Process.Kill()
	<-p.ended
	_ = p.stdin.Close()
}

func (p *process) alive() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// ends waits for a process that has been killed, and reports whether it is gone.
func (p *process) ends() bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(endTimeout):
		return false
	}
}

func (p *process) said() string { return p.output.String() }

// outputBytesMax is how much of a process's output is kept.
const outputBytesMax = 4 << 10

// tail is the end of what was written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-outputBytesMax):]
	return len(p), nil
}

// String implements fmt.Stringer.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
