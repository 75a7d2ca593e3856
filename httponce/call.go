package httponce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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

	outer  http.Header // of the response, before the handler
	body   []byte
	answer *reply // of the latest attempt, where it is to be committed
	ran    bool   // this call's own work ran
	sent   bool   // the response is begun
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
	call.Meaning = d.meaning(call)
	call.rewind()
	if d.options.Authorize != nil {
		if err := d.options.Authorize(r, call.Command); err != nil {
			return unless(err, forbiddenCaller)
		}
		call.rewind()
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
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > int64(bytesMax) {
		return nil, bodyTooLarge.answer(fmt.Sprintf("Send at most %d bytes.", bytesMax))
	}
	from := r.Body
	if r.ContentLength < 0 {
		from = http.MaxBytesReader(w, r.Body, int64(bytesMax)) // has the server close the connection of a caller who goes on
	}
	b := make([]byte, 0, min(max(r.ContentLength+1, 512), bodyBytesFirst))
	for {
		n, err := from.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch tooLarge := (*http.MaxBytesError)(nil); {
		case errors.Is(err, io.EOF) && int64(len(b)) < r.ContentLength, err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &tooLarge):
			return nil, bodyIncomplete.answer("")
		case errors.As(err, &tooLarge):
			return nil, bodyTooLarge.answer(fmt.Sprintf("Send at most %d bytes.", bytesMax))
		case err != nil:
			return b, nil
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
}

// meaning is what has to match on a retry.
func (d *Door[Tx]) meaning(call *Call) *fingerprint.Request {
	r := call.Request
	m := &fingerprint.Request{
		Method:      r.Method,
		Operation:   call.Operation.Name,
		PathValues:  pathValues(r),
		RawQuery:    r.URL.RawQuery,
		ContentType: r.Header.Get("Content-Type"),
		Header:      func(name string) []string { return r.Header.Values(name) },
		Body:        call.body,
		Rules:       d.options.Rules,
	}
	if r.Header.Get("Content-Encoding") != "" {
		m.ContentType = "application/octet-stream" // coded bytes are not what their type says
	}
	return m
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
