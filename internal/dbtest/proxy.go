package dbtest

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Proxy is a network between clients and a server, on loopback, that can be slow and can fail at a chosen moment. Clients connect to
// [Proxy.Addr]; every connection is forwarded to the target as it is. Its methods may be called from any goroutine.
type Proxy struct {
	target   string
	listener net.Listener
	latency  atomic.Int64 // nanoseconds, one way
	closed   chan struct{}
	work     sync.WaitGroup

	mu    sync.Mutex
	armed []*Armed
	links map[*link]struct{}
}

// NewProxy starts a proxy to target, host:port, that ends with the test.
func NewProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	p, err := ListenProxy(target)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// ListenProxy starts a proxy for a program that is no test. [Proxy.Close] ends it.
func ListenProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return startProxy(listener, target), nil
}

func startProxy(listener net.Listener, target string) *Proxy {
	p := &Proxy{target: target, listener: listener, closed: make(chan struct{}), links: map[*link]struct{}{}}
	p.work.Go(p.accept)
	return p
}

// Addr is where clients connect, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL returns a connection string of the target with the proxy's address in place of the target's.
func (p *Proxy) URL(direct string) string { return withHost(direct, p.Addr()) }

func withHost(direct, addr string) string {
	through, err := url.Parse(direct)
	if err != nil {
		return direct // it fails where it is used, with a better word for it
	}
	through.Host = addr
	return through.String()
}

// Delay makes every byte that is read from now on arrive so much later, in each direction: 500 µs make a network with a round trip
// of 1 ms. It is a delay, not a limit of throughput: what is sent one after the other arrives one after the other. On Linux the
// round trip is exact to about 0.1 ms while a core is free, the proxy's own work included; [time.Sleep] could not do that, since the
// Go runtime rounds an idle process's timers up to whole milliseconds.
func (p *Proxy) Delay(oneWay time.Duration) { p.latency.Store(int64(oneWay)) }

// Sever breaks all present connections, between two chunks or within one. New ones work.
func (p *Proxy) Sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Close ends the proxy and all its connections.
func (p *Proxy) Close() {
	p.mu.Lock()
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Sever()
	p.work.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.serve(client) })
	}
}

// serve connects a client with the target and returns when both directions have ended. A target that is down closes the client.
func (p *Proxy) serve(client net.Conn) {
	server, err := p.dial()
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{proxy: p, client: client, server: server, closed: make(chan struct{}), answered: make(chan struct{})}
	defer l.close()
	if !p.add(l) {
		return
	}
	defer p.drop(l)
	var ends sync.WaitGroup
	ends.Go(func() { l.carry(client, server, l.forward) })
	ends.Go(func() { l.carry(server, client, l.answer) })
	ends.Wait()
}

// dial connects to the target. One that is down may have left its port to this proxy, which would call itself without end.
func (p *Proxy) dial() (net.Conn, error) {
	if p.target == p.Addr() {
		return nil, syscall.ECONNREFUSED
	}
	return net.Dial("tcp", p.target)
}

// add registers a connection, unless the proxy has been closed.
func (p *Proxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return false
	default:
		p.links[l] = struct{}{}
		return true
	}
}

func (p *Proxy) drop(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
