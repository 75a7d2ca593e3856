package httponce

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// errAnswerTooLarge: a handler wrote more than AnswerBytesMax.
var errAnswerTooLarge = errors.New("httponce: the answer exceeds Options.AnswerBytesMax")

// held is the http.ResponseWriter of a handler in the door: it keeps the answer until the commit. It has no Unwrap, so
// that http.ResponseController finds neither Flush nor Hijack behind it. Like any ResponseWriter it is used by one
// goroutine.
type held struct {
	outer    http.Header // what stands on the response before the handler
	header   http.Header // what the handler sees
	snapshot http.Header // of header, when the status was written
	status   int
	body     []byte
	bytesMax int
	err      error
}

func newHeld(outer http.Header, bytesMax int) *held {
	header := make(http.Header, len(outer)+4)
	for name, values := range outer {
		header[name] = slices.Clip(values)
	}
	return &held{outer: outer, header: header, bytesMax: bytesMax}
}

// Header returns the header as a handler would find it without the door.
func (h *held) Header() http.Header { return h.header }

// WriteHeader keeps the first status, as net/http does. Interim answers (1xx) are dropped: they would precede the commit.
func (h *held) WriteHeader(status int) {
	switch {
	case status < 100 || status > 999:
		panic(fmt.Sprintf("httponce: invalid WriteHeader code %d", status))
	case status == http.StatusSwitchingProtocols:
		h.err = errors.New("httponce: a handler in the door cannot switch protocols")
	case status >= 200 && h.status == 0:
		h.status, h.snapshot = status, h.header.Clone()
	}
}

// Write keeps p. Beyond the bound it fails, and so does the work, whatever the handler makes of the error.
func (h *held) Write(p []byte) (int, error) {
	if err := h.admit(len(p)); err != nil {
		return 0, err
	}
	h.body = append(h.body, p...)
	return len(p), nil
}

// WriteString is Write for io.WriteString.
func (h *held) WriteString(s string) (int, error) {
	if err := h.admit(len(s)); err != nil {
		return 0, err
	}
	h.body = append(h.body, s...)
	return len(s), nil
}

func (h *held) admit(n int) error {
	if h.status == 0 {
		h.WriteHeader(http.StatusOK)
	}
	switch {
	case h.err != nil:
		return h.err
	case !bodyAllowed(h.status):
		return http.ErrBodyNotAllowed
	case n > h.bytesMax-len(h.body):
		h.err = fmt.Errorf("%w of %d bytes", errAnswerTooLarge, h.bytesMax)
	}
	return h.err
}

// reply is what the handler wrote.
func (h *held) reply() (*reply, error) {
	if h.status == 0 {
		h.WriteHeader(http.StatusOK)
	}
	if h.err != nil {
		return nil, h.err
	}
	p := &reply{status: h.status, body: h.body, final: h.status < 400}
	for name, values := range h.snapshot {
		if f, ok := h.field(name, values); ok {
			p.fields = append(p.fields, f)
		}
	}
	for name := range h.outer {
		if _, ok := h.snapshot[name]; !ok {
			p.fields = append(p.fields, field{name: name}) // deleted by the handler
		}
	}
	h.sniff(p)
	return p, nil
}

// field tells what the handler did to a field: nothing, added values to it, or put its own in the place of others.
func (h *held) field(name string, values []string) (field, bool) {
	outer, shared := h.outer[name]
	switch {
	case name == "Content-Length" || name == "Transfer-Encoding": // the door's to say
		return field{}, false
	case !shared || len(h.body) > 0 && slices.Contains(contentFields, name):
		return field{name: name, values: values}, true
	case slices.Equal(values, outer):
		return field{}, false
	case len(values) > len(outer) && slices.Equal(values[:len(outer)], outer):
		return field{name: name, values: values[len(outer):], added: true}, true
	}
	return field{name: name, values: values}, true
}

// sniff says the type that net/http would guess, so that it is recorded with the bytes.
func (h *held) sniff(p *reply) {
	_, typed := h.snapshot["Content-Type"]
	if len(p.body) > 0 && !typed && h.snapshot.Get("Content-Encoding") == "" {
		p.set("Content-Type", http.DetectContentType(p.body))
	}
}
