package fiberonce

import (
	"net/http"

	"github.com/valyala/fasthttp"
)

// writer is a fasthttp response as net/http's.
type writer struct {
	response *fasthttp.Response
	header   http.Header
}

// newWriter is a writer on a response that middlewares may have put fields on.
func newWriter(response *fasthttp.Response) *writer {
	w := &writer{response: response, header: http.Header{}}
	copyHeader(w.header, response, false)
	return w
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. The door writes once.
func (w *writer) WriteHeader(status int) {
	w.response.ResetBody()
	w.response.SetStatusCode(status)
	delete(w.header, "Content-Length") // fasthttp's to say
	for name, values := range w.header {
		w.response.Header.Del(name)
		for _, value := range values {
			w.response.Header.Add(name, value)
		}
	}
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	w.response.AppendBody(b)
	return len(b), nil
}

// copyResponse writes what a handler answered to w, whose header has the fields that the handler found.
func copyResponse(w http.ResponseWriter, response *fasthttp.Response) error {
	body := response.IsBodyStream() || len(response.Body()) > 0
	clear(w.Header())
	copyHeader(w.Header(), response, body)
	w.WriteHeader(response.StatusCode())
	if !body {
		return nil
	}
	return response.BodyWriteTo(w)
}

// copyHeader copies a response's fields. Without a body the type is not one that anybody has set.
func copyHeader(header http.Header, response *fasthttp.Response, body bool) {
	for name, value := range response.Header.All() {
		switch key := string(name); {
		case key == "Content-Length", key == "Content-Type" && !body:
		default:
			header.Add(key, string(value))
		}
	}
}
