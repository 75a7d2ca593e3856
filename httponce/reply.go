package httponce

import (
	"net/http"
	"slices"
	"strconv"
)

// HeaderReplayed is "true" on an answer that an earlier attempt recorded; HeaderID is the public id of the result.
const (
	HeaderReplayed = "Idempotent-Replayed"
	HeaderID       = "Idempotency-Id"
)

// reply is an answer in bytes.
type reply struct {
	status int
	fields []field
	body   []byte
	final  bool // to be committed and recorded
	secret bool // the body is not to be recorded
}

// field is one field of a reply's header and how it meets those that outer middlewares have put on the response.
type field struct {
	name   string // canonical
	values []string
	added  bool // beside what is there, instead of in its place
}

func (p *reply) set(name, value string) {
	p.fields = append(p.fields, field{name: name, values: []string{value}})
}

// send writes the reply of a command; stored drops what belongs to the first caller alone.
func (p *reply) send(w http.ResponseWriter, id string, keep func(name string) bool) {
	header := w.Header()
	for _, f := range p.fields {
		if keep == nil || keep(f.name) {
			f.apply(header)
		}
	}
	if id != "" {
		header[HeaderID] = []string{id}
	}
	write(w, p.status, p.body)
}

// apply puts f on a response. A nil value keeps net/http from setting one of its own.
func (f field) apply(header http.Header) {
	if !f.added {
		header[f.name] = f.values
		return
	}
	for _, value := range f.values {
		if !slices.Contains(header[f.name], value) {
			header[f.name] = append(header[f.name], value)
		}
	}
}

// write ends a response. Its length is said, so that the answer is not chunked, however long.
func write(w http.ResponseWriter, status int, body []byte) {
	if bodyAllowed(status) {
		w.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(status)
	if len(body) > 0 {
		_, _ = w.Write(body) // the caller has gone; the answer stays
	}
}
