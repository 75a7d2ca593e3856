package dbtest

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// peer is a server that hears lines, one connection at a time, and answers each with "ok" when it may.
type peer struct {
	net.Listener
	heard chan string   // each line, and at a connection's end what is left of one
	may   chan struct{} // an answer waits for one of these; closed: answers at once
}

const silence = "" // what a peer hears at the end of a connection that ends with a whole line

func newPeer(tb testing.TB) *peer {
	listener := must[net.Listener](tb)(net.Listen("tcp", "127.0.0.1:0"))
	p := &peer{Listener: listener, heard: make(chan string, 1000), may: make(chan struct{})}
	tb.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			p.serve(connection)
		}
	}()
	return p
}

// newPolitePeer is a peer that answers at once.
func newPolitePeer(tb testing.TB) *peer {
	p := newPeer(tb)
	close(p.may)
	return p
}

func (p *peer) serve(connection net.Conn) {
	defer connection.Close()
	lines := bufio.NewReader(connection)
	for {
		line, err := lines.ReadString('\n')
		p.heard <- line
		if err != nil {
			return
		}
		<-p.may
		_, _ = io.WriteString(connection, "ok\n")
	}
}

// expect fails unless the peer hears exactly these lines next.
func (p *peer) expect(tb testing.TB, lines ...string) {
	tb.Helper()
	for _, want := range lines {
		if got := <-p.heard; got != want {
			tb.Fatalf("the server heard %q, want %q", got, want)
		}
	}
}

// caller is a client of a peer.
type caller struct {
	net.Conn
	answers *bufio.Reader
}

func call(tb testing.TB, addr string) *caller {
	tb.Helper()
	connection := must[net.Conn](tb)(net.Dial("tcp", addr))
	tb.Cleanup(func() { _ = connection.Close() })
	return &caller{connection, bufio.NewReader(connection)}
}

func (c *caller) say(tb testing.TB, text string) {
	tb.Helper()
	_ = must[int](tb)(io.WriteString(c, text))
}

// ask says a line and fails unless it is answered.
func (c *caller) ask(tb testing.TB, line string) {
	tb.Helper()
	c.say(tb, line)
	c.expectAnswers(tb, 1)
}

func (c *caller) expectAnswers(tb testing.TB, count int) {
	tb.Helper()
	for range count {
		if answer := must[string](tb)(c.answers.ReadString('\n')); answer != "ok\n" {
			tb.Fatalf("answer %q", answer)
		}
	}
}

// expectEnd fails unless the connection ends without another byte.
func (c *caller) expectEnd(tb testing.TB) {
	tb.Helper()
	if text, err := c.answers.ReadString('\n'); err == nil || text != "" {
		tb.Fatalf("heard %q, want the end of the connection", text)
	}
}

// expectHanging fails if the connection ends or answers within a moment.
func (c *caller) expectHanging(tb testing.TB) {
	tb.Helper()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := c.answers.ReadByte(); err == nil || !strings.Contains(err.Error(), "timeout") {
		tb.Fatalf("want a connection that hangs, got %v", err)
	}
	_ = c.SetReadDeadline(time.Time{})
}

func isClosed(signal <-chan struct{}) bool {
	select {
	case <-signal:
		return true
	default:
		return false
	}
}
