package oncetest

import (
	"bufio"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// link is one connection through the proxy. Steps that are points go to the server one after the other, also where the client
// sends several at once: so they are met in the same order in every run.
type link struct {
	proxy          *proxy
	client, server net.Conn
	wire           wire

	turn chan struct{} // held by the step that is not answered yet
	sent sync.Mutex    // held while a step is sent, so that a point in it is met before the one after it
	what *string       // the step's name; guarded by sent
	left atomic.Bool   // the client is gone
	over chan struct{} // closed when the server is gone too
	once sync.Once
}

func newLink(p *proxy, client, server net.Conn) *link {
	return &link{proxy: p, client: client, server: server, wire: p.wire(), turn: make(chan struct{}, 1), over: make(chan struct{})}
}

// run returns when both sides are gone.
func (l *link) run() {
	go func() {
		l.forward()
		l.leave()
	}()
	l.back()
	l.leave()
	_, _ = io.Copy(io.Discard, l.server)
	l.close()
	close(l.over)
}

// leave tells the server that nobody is there any more. It notices at once, or when it has done what it does.
func (l *link) leave() {
	l.left.Store(true)
	if half, ok := l.server.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

func (l *link) close() {
	l.once.Do(func() {
		_ = l.client.Close()
		_ = l.server.Close()
	})
}

// forward carries the client's steps until there are no more, or the process is killed at one.
func (l *link) forward() {
	from := bufio.NewReader(l.client)
	for {
		data, what, err := l.wire.step(from, l.client)
		if err != nil {
			return
		}
		if what != "" {
			select {
			case l.turn <- struct{}{}:
			case <-l.over:
				return
			}
			if l.proxy.strikes("before " + what) {
				return
			}
		}
		if !l.send(data, what) {
			return
		}
	}
}

// send passes a step on and reports whether to go on.
func (l *link) send(data []byte, what string) bool {
	l.sent.Lock()
	defer l.sent.Unlock()
	if what != "" {
		l.what = &what
	}
	if _, err := l.server.Write(data); err != nil {
		return false
	}
	return !commits(what) || !l.proxy.strikes("in "+what)
}

// back carries the server's answers until there are no more, or the process is killed before it gets one.
func (l *link) back() {
	from := bufio.NewReader(l.server)
	for {
		data, ends, err := l.wire.answer(from)
		if err != nil {
			return
		}
		if what := l.answered(ends); what != nil {
			if l.proxy.strikes("after " + *what) {
				return
			}
			<-l.turn
		}
		if _, err := l.client.Write(data); err != nil {
			return
		}
	}
}

// answered is the step that an answer ends, if it ends one that is a point.
func (l *link) answered(ends bool) *string {
	if !ends {
		return nil
	}
	l.sent.Lock()
	defer l.sent.Unlock()
	what := l.what
	l.what = nil
	return what
}
