package httponce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// Call is what a work may want to know of the request that it runs for: the caller's Scope, the Key and the ID of the
// command, for a business table that keeps them, and the request, for its path values, query and header.
type Call struct {
	onceward.Command
	// Request is the caller's; its body can be read once per attempt.
	Request *http.Request

	request http.Request        // what Request points to
	meaning fingerprint.Request // what Meaning is made of
	outer   http.Header         // of the response, before the handler
	body    []byte
	answer  *reply // of the latest attempt, where it is to be committed

	sent bool // the response is begun
}

// newCall takes a copy of the request: a handler must not change the one that it was given.
func newCall(op *onceward.Operation, w http.ResponseWriter, r *http.Request) *Call {
	call := &Call{Command: onceward.Command{Operation: op}, request: *r, outer: w.Header()}
	call.Request = &call.request
	return call
}

// context makes the call known to those who get ctx.
func (c *Call) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

type callKey struct{}

// CallFrom gives the call that a work's context belongs to. It panics with a context that is not, or is not derived
// from, that of a handler of this package.
func CallFrom(ctx context.Context) *Call {
	call, ok := ctx.Value(callKey{}).(*Call)
	if !ok {
		panic("httponce: CallFrom needs the context that a handler was called with")
	}
	return call
}

// identify finds out who asks for what. It claims nothing; its errors are those of the request.
func (d *Door[Tx]) identify(w http.ResponseWriter, call *Call) (err error) {
	r := call.Request
	if call.Scope, err = d.options.Scope(r); err != nil {
		return unless(err, unauthenticated)
	}
	if call.Scope.Principal == "" && call.Operation.Per == onceward.Principal || call.Scope.Tenant == "" && call.Operation.Per == onceward.Tenant {
		return unauthenticated.answer("")
	}
	if call.Key, err = d.options.key(r); err != nil {
		return err
	}
	if call.body, err = readBody(w, r, d.options.BodyBytesMax); err != nil {
		return err
	}
	d.options.mean(call)
	if d.options.Authorize != nil {
		call.rewind()
		if err := d.options.Authorize(r, call.Command); err != nil {
			return unless(err, forbiddenCaller)
		}
	}
	return nil
}

// unless is the answer that err is or wraps, or else that of k.
func unless(err error, k kind) error {
	if answer := (*Answer)(nil); errors.As(err, &answer) {
		return answer
	}
	return k.answer("")
}

// rewind lets the body be read anew.
func (c *Call) rewind() {
	c.Request.Body = &body{*bytes.NewReader(c.body)}
	c.Request.ContentLength = int64(len(c.body))
	c.Request.TransferEncoding = nil
}

type body struct{ bytes.Reader }

// Close implements io.Closer.
func (*body) Close() error { return nil }

// A body is read into room that grows as its bytes arrive, so that an announced length costs nothing.
const bodyBytesFirst = 16 << 10

// readBody reads the whole body. Its memory is not pooled: a handler may keep the request longer than it should, and
// must then not find another caller's.
func readBody(w http.ResponseWriter, r *http.Request, bytesMax int) ([]byte, error) {
	length := r.ContentLength
	switch {
	case length == 0 || r.Body == nil:
		return nil, nil
	case length > int64(bytesMax):
		return nil, tooLarge(bytesMax)
	case length > 0 && length <= bodyBytesFirst:
		b := make([]byte, length)
		if _, err := io.ReadFull(r.Body, b); err != nil {
			return nil, bodyIncomplete.answer("")
		}
		return b, nil
	}
	// MaxBytesReader has the server close the connection of a caller who goes on.
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(bytesMax)))
	switch {
	case err != nil && errors.As(err, new(*http.MaxBytesError)):
		return nil, tooLarge(bytesMax)
	case err != nil || int64(len(b)) < length:
		return nil, bodyIncomplete.answer("")
	}
	return b, nil
}

func tooLarge(bytesMax int) *Answer {
	return bodyTooLarge.answer(fmt.Sprintf("Send at most %d bytes.", bytesMax))
}

// mean sets what has to match on a retry.
func (o *Options) mean(call *Call) {
	r := call.Request
	m := &call.meaning
	m.Method = r.Method
	m.Operation = call.Operation.Name
	m.PathValues = pathValues(r)
	m.RawQuery = r.URL.RawQuery
	m.ContentType = r.Header.Get("Content-Type")
	m.Body = call.body
	m.Rules = o.Rules
	if slices.ContainsFunc(o.Rules, func(rule fingerprint.Rule) bool { return len(rule.Headers) > 0 }) {
		m.Header = func(name string) []string { return r.Header.Values(name) }
	}
	if r.Header.Get("Content-Encoding") != "" {
		m.ContentType = "application/octet-stream" // coded bytes are not what their type says
	}
	call.Meaning = m
}

// pathValues are the route's wildcards. Where the pattern is not one of http.ServeMux that tells everything about the
// path, the path itself is taken: rather two meanings for one than one for two.
func pathValues(r *http.Request) []string {
	pattern := r.Pattern
	if pattern == "" || strings.HasSuffix(pattern, "/") || strings.ContainsAny(pattern, "*:") {
		return []string{"", r.URL.Path}
	}
	var values []string
	for {
		start := strings.IndexByte(pattern, '{')
		if start < 0 {
			return values
		}
		end := start + strings.IndexByte(pattern[start:], '}')
		if end < start {
			return []string{"", r.URL.Path}
		}
		name, many := strings.CutSuffix(pattern[start+1:end], "...")
		value := r.PathValue(name)
		switch {
		case value == "" && !many && name != "$":
			return []string{"", r.URL.Path}
		case name != "$":
			values = append(values, name, value)
		}
		pattern = pattern[end+1:]
	}
}
