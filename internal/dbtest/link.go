package dbtest

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	chunkBytesMax = 64 << 10
	inFlightMax   = 1024 // chunks that one direction of a connection holds back
	tailBytesMax  = 256
)

// link is one connection through the proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	tail           []byte // the last bytes forwarded, for a text that two chunks share

	once   sync.Once
	closed chan struct{}

	muted        atomic.Bool // the server's answers are dropped
	answeredOnce sync.Once
	answered     chan struct{} // closed at the first answer after muted was set, or at the server's end
}

// chunk is what one read returned, and when it arrives at the other side.
type chunk struct {
	data []byte
	due  time.Time
}

// carry is a delay line from one side to the other: a goroutine reads and stamps, this one waits for each chunk's time and hands it to
// deliver, which reports whether to go on.
func (l *link) carry(from, to net.Conn, deliver func(data []byte) bool) {
	line := make(chan chunk, inFlightMax)
	l.proxy.work.Go(func() { l.read(from, line) })
	var clock alarm
	defer clock.close()
	for c := range line {
		clock.wait(c.due)
		if !deliver(c.data) {
			l.close()
			return
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // an end is passed on like data: the other direction may have more to say
	}
}

// read stamps what comes in, until its end.
func (l *link) read(from net.Conn, line chan<- chunk) {
	defer close(line)
	buffer := make([]byte, chunkBytesMax)
	for {
		n, err := from.Read(buffer)
		if from == l.server && (err != nil || l.muted.Load()) {
			l.answeredOnce.Do(func() { close(l.answered) })
		}
		if n > 0 {
			select {
			case line <- chunk{bytes.Clone(buffer[:n]), time.Now().Add(time.Duration(l.proxy.latency.Load()))}:
			case <-l.closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// forward delivers a chunk to the server, or lets the fault strike that waits for it.
func (l *link) forward(data []byte) bool {
	if armed, middle := l.proxy.match(l.client.RemoteAddr().String(), l.tail, data); armed != nil {
		strike{armed, l, data, middle}.run()
		return false
	}
	l.tail = lastBytes(append(l.tail, lastBytes(data)...))
	_, err := l.server.Write(data)
	return err == nil
}

func lastBytes(data []byte) []byte { return data[max(0, len(data)-tailBytesMax):] }

// answer delivers a chunk to the client.
func (l *link) answer(data []byte) bool {
	if l.muted.Load() {
		return true
	}
	_, err := l.client.Write(data)
	return err == nil || l.muted.Load() // a fault that cuts the client still needs the server
}

// close breaks the connection on both sides.
func (l *link) close() {
	l.once.Do(func() {
		close(l.closed)
		_ = l.client.Close()
		_ = l.server.Close()
	})
}
