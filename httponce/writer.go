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
	answer   reply       // its fields are those of the moment when the status was written
	typed    bool        // the type of the body is said, or unknowable
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
	case status >= 200 && h.answer.status == 0:
		h.answer.status, h.answer.final = status, status < 400
		h.keepFields()
	}
}

// Write keeps p. Beyond the bound it fails, and so does the work, whatever the handler makes of the error.
func (h *held) Write(p []byte) (int, error) {
	if err := h.admit(len(p)); err != nil {
		return 0, err
	}
	h.answer.body = append(h.answer.body, p...)
	return len(p), nil
}

// WriteString is Write for io.WriteString.
func (h *held) WriteString(s string) (int, error) {
	if err := h.admit(len(s)); err != nil {
		return 0, err
	}
	h.answer.body = append(h.answer.body, s...)
	return len(s), nil
}

func (h *held) admit(n int) error {
	if h.answer.status == 0 {
		h.WriteHeader(http.StatusOK)
	}
	switch {
	case h.err != nil:
		return h.err
	case !bodyAllowed(h.answer.status):
		return http.ErrBodyNotAllowed
	case n > h.bytesMax-len(h.answer.body):
		h.err = fmt.Errorf("%w of %d bytes", errAnswerTooLarge, h.bytesMax)
	}
	return h.err
}

// reply is what the handler wrote. Its type is the one that net/http would guess if the handler said none, so that it is
// recorded with the bytes.
func (h *held) reply() (*reply, error) {
	if h.answer.status == 0 {
		h.WriteHeader(http.StatusOK)
	}
	if h.err != nil {
		return nil, h.err
	}
	if len(h.answer.body) > 0 && !h.typed {
		h.answer.set("Content-Type", http.DetectContentType(h.answer.body))
	}
	return &h.answer, nil
}

// keepFields notes what the handler did to the header that it found.
func (h *held) keepFields() {
	_, typed := h.header["Content-Type"]
	h.typed = typed || len(h.header["Content-Encoding"]) > 0
	h.answer.fields = make([]field, 0, len(h.header))
	for name, values := range h.header {
		if f, ok := h.changed(name, values); ok {
			h.answer.fields = append(h.answer.fields, f)
		}
	}
	for name := range h.outer {
		if _, ok := h.header[name]; !ok {
			h.answer.fields = append(h.answer.fields, field{name: name}) // deleted
		}
	}
}

// changed tells what the handler did to a field: nothing, added values to it, or put its own in the place of others.
// What describes the body is told in any case: it is recorded with the bytes.
func (h *held) changed(name string, values []string) (field, bool) {
	outer, shared := h.outer[name]
	switch {
	case name == "Content-Length" || name == "Transfer-Encoding": // the door's to say
		return field{}, false
	case !shared || slices.Contains(contentFields, name):
		return field{name: name, values: slices.Clip(values)}, true
	case slices.Equal(values, outer):
		return field{}, false
	case len(values) > len(outer) && slices.Equal(values[:len(outer)], outer):
		return field{name: name, values: slices.Clip(values[len(outer):]), added: true}, true
	}
	return field{name: name, values: slices.Clip(values)}, true
}
