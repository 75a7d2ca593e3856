package ginonce

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

const notWritten = -1 // as Gin counts

// writer is Gin's ResponseWriter on an answer that is held.
type writer struct {
	http.ResponseWriter
	status, size int
}

// WriteHeader notes the status; it is written with the body, or at the handler's end.
func (w *writer) WriteHeader(status int) {
	if status > 0 && !w.Written() {
		w.status = status
	}
}

// WriteHeaderNow implements gin.ResponseWriter.
func (w *writer) WriteHeaderNow() {
	if !w.Written() {
		w.size = 0
		w.ResponseWriter.WriteHeader(w.status)
	}
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeaderNow()
	n, err := w.ResponseWriter.Write(b)
	w.size += n
	return n, err
}

// WriteString implements gin.ResponseWriter.
func (w *writer) WriteString(s string) (int, error) {
	w.WriteHeaderNow()
	n, err := io.WriteString(w.ResponseWriter, s)
	w.size += n
	return n, err
}

// Status implements gin.ResponseWriter.
func (w *writer) Status() int { return w.status }

// Size implements gin.ResponseWriter.
func (w *writer) Size() int { return w.size }

// Written implements gin.ResponseWriter.
func (w *writer) Written() bool { return w.size != notWritten }

// Flush sends nothing: the answer is held until the commit.
func (w *writer) Flush() { w.WriteHeaderNow() }

// Hijack is not possible: the answer is held until the commit.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, http.ErrNotSupported }

// CloseNotify never tells: the context of the request does.
func (w *writer) CloseNotify() <-chan bool { return nil }

// Pusher is not there.
func (w *writer) Pusher() http.Pusher { return nil }
