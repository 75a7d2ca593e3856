package oncetest

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	dialTimeout     = 10 * time.Second
	settleTimeout   = 30 * time.Second // for a server to end what a killed process began
	messageBytesMax = 64 << 20
)

// wire tells a protocol's messages apart, on one connection. Its two methods are called by one goroutine each.
type wire interface {
	// step reads what the client sends until it waits for an answer. What is the step's name, or "" if it is no point; such data
	// is passed on at once.
	step(client *bufio.Reader, reply io.Writer) (data []byte, what string, err error)
	// answer reads the server's next message, or a part of it. Ends reports that the answer to a step that is a point may end
	// with it.
	answer(server *bufio.Reader) (data []byte, ends bool, err error)
}

// proxy stands between the process and its server, and has the process killed at a point.
type proxy struct {
	direct   *url.URL
	target   string
	wire     func() wire
	listener net.Listener

	mu    sync.Mutex
	kill  func() // nil while it is not armed
	left  int    // points before the one at which the process is killed
	point string
	links map[*link]struct{}
}

func newProxy(direct, port string, wire func() wire) (*proxy, error) {
	parsed, err := url.Parse(direct)
	if err != nil || parsed.Hostname() == "" {
		return nil, errors.New("oncetest: the database's URL is not one with a host") // it may have a password
	}
	if parsed.Port() != "" {
		port = parsed.Port()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{direct: parsed, target: net.JoinHostPort(parsed.Hostname(), port), wire: wire, listener: listener, links: map[*link]struct{}{}}
	go p.accept()
	return p, nil
}

func (p *proxy) database() string {
	through := *p.direct
	through.Host = p.listener.Addr().String()
	return through.String()
}

func (p *proxy) arm(n int, _ *http.Request, kill func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kill, p.left, p.point = kill, n, ""
	return nil
}

func (p *proxy) disarm(bool) (point string, again bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kill = nil
	return p.point, false, nil
}

// settle waits for the ends of the links whose client is gone.
func (p *proxy) settle() error {
	p.mu.Lock()
	var left []*link
	for l := range p.links {
		if l.left.Load() {
			left = append(left, l)
		}
	}
	p.mu.Unlock()
	timer := time.NewTimer(settleTimeout)
	defer timer.Stop()
	for _, l := range left {
		select {
		case <-l.over:
		case <-timer.C:
			return errors.New("the database server does not end a connection that was left")
		}
	}
	return nil
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// strikes counts a point that has been reached, and reports whether it is the one; the process is gone then.
func (p *proxy) strikes(point string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kill == nil || p.point != "" {
		return false
	}
	if p.left > 0 {
		p.left--
		return false
	}
	p.point = point
	p.kill()
	for l := range p.links {
		l.left.Store(true)
	}
	return true
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.serve(client)
	}
}

func (p *proxy) serve(client net.Conn) {
	server, err := net.DialTimeout("tcp", p.target, dialTimeout)
	if err != nil {
		_ = client.Close()
		return
	}
	l := newLink(p, client, server)
	p.mu.Lock()
	p.links[l] = struct{}{}
	p.mu.Unlock()
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// commits reports whether a step of that name has a commit carried out.
func commits(what string) bool {
	return strings.Contains(what, "COMMIT") && !strings.HasPrefix(what, "PREPARE")
}
