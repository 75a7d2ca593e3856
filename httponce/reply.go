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

// send writes the reply of a command with its public id, if it has one; where keep is not nil, only the fields that it
// wants. The length is said, so that the answer is not chunked, however long.
func (p *reply) send(w http.ResponseWriter, id string, keep func(name string) bool) {
	header := w.Header()
	for _, f := range p.fields {
		if keep == nil || keep(f.name) {
			f.apply(header)
		}
	}
	values := []string{id, strconv.Itoa(len(p.body))}
	if id != "" {
		header[HeaderID] = values[0:1:1]
	}
	if bodyAllowed(p.status) {
		header["Content-Length"] = values[1:2:2]
	}
	w.WriteHeader(p.status)
	if len(p.body) > 0 {
		_, _ = w.Write(p.body) // the caller has gone; the answer stays
	}
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
