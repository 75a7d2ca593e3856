package httponce

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/onceward/onceward"
)

// identify finds out who asks for what. It claims nothing; its errors are those of the request.
func (o *Options) identify(v *visit) (err error) {
	c := &v.command
	if c.Scope, err = o.Scope(v.in); err != nil {
		return unless(err, unauthenticated)
	}
	if c.Scope.Principal == "" && c.Operation.Per == onceward.Principal || c.Scope.Tenant == "" && c.Operation.Per == onceward.Tenant {
		return unauthenticated.answer("")
	}
	if v.by == nil {
		if c.Key, err = o.key(v); err != nil && o.shadow != nil {
			o.shadow.NoKey(c.Operation)
			c.Key, err = rand.Text(), nil
		}
	}
	if err != nil {
		return err
	}
	if v.Body, err = v.readBody(o.BodyBytesMax); err != nil {
		return err
	}
	o.mean(v)
	if err := v.name(); err != nil {
		return err
	}
	if o.Authorize != nil {
		if err := v.asked(o.Authorize); err != nil {
			return unless(err, forbiddenCaller)
		}
	}
	return nil
}

// name finds the key where it is not in the field: in the input, or in the meaning as a whole.
func (v *visit) name() (err error) {
	c := &v.command
	if v.by == nil && c.Key != "" {
		return nil
	}
	if v.by == nil {
		if v.decode != nil { // what the meaning is of
			err = v.declare()
		}
		if err == nil {
			*c, err = c.Identified()
		}
		return err
	}
	if err := v.declare(); err != nil {
		return err
	}
	if v.input, err = v.decode(v.Body); err != nil {
		return err
	}
	if c.Key, err = v.by(v.in, v.input); err != nil {
		if errors.As(err, new(*Answer)) {
			return err
		}
		return bodyInvalid.answer(sentence(err.Error()))
	}
	if strings.TrimSpace(c.Key) == "" || len(c.Key) > onceward.KeyBytesMax {
		return bodyInvalid.answer(fmt.Sprintf("What identifies the action must not be empty, and at most %d bytes.", onceward.KeyBytesMax))
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

// readBody reads the whole body, into room that grows as its bytes arrive, so that an announced length costs nothing.
func (v *visit) readBody(bytesMax int) ([]byte, error) {
	length := v.in.ContentLength
	switch {
	case length == 0 || v.in.Body == nil:
		return nil, nil
	case length > int64(bytesMax):
		return nil, tooLarge(int64(bytesMax))
	case length > 0 && length <= roomBytesMax:
		if int(length) > cap(v.room) {
			v.room = make([]byte, length)
		}
		b := v.room[:length]
		if _, err := io.ReadFull(v.in.Body, b); err != nil {
			return nil, unread(err)
		}
		return b, nil
	}
	// MaxBytesReader has the server close the connection of a caller who goes on.
	b, err := io.ReadAll(http.MaxBytesReader(v.out, v.in.Body, int64(bytesMax)))
	if err != nil || int64(len(b)) < length {
		return nil, unread(err)
	}
	return b, nil
}

// unread answers a body that could not be read to its end. The bound that it met may be another's, an outer
// http.MaxBytesHandler's.
func unread(err error) *Answer {
	if bound := (*http.MaxBytesError)(nil); errors.As(err, &bound) {
		return tooLarge(bound.Limit)
	}
	return bodyIncomplete.answer("")
}

func tooLarge(bytesMax int64) *Answer {
	return bodyTooLarge.answer(fmt.Sprintf("Send at most %d bytes.", bytesMax))
}

// mean sets what has to match on a retry.
func (o *Options) mean(v *visit) {
	v.command.Meaning = v
	v.Method = v.in.Method
	v.Operation = v.command.Operation.Name
	v.PathValues = pathValues(v.in)
	v.RawQuery = v.in.URL.RawQuery
	if types := v.in.Header["Content-Type"]; len(types) > 0 {
		v.ContentType = types[0]
	}
	v.Rules = o.Rules
	if o.meansHeader {
		header := v.in.Header
		v.Header = func(name string) []string { return header.Values(name) }
	}
	if len(v.in.Header["Content-Encoding"]) > 0 {
		v.ContentType = "application/octet-stream" // coded bytes are not what their type says
	}
}

// pathValues are the route's wildcards. Where the pattern is not one of http.ServeMux that tells everything about the
// path, the path itself is taken: rather two meanings for one than one for two.
func pathValues(r *http.Request) []string {
	pattern := r.Pattern
	path, cut := sentPath(r)
	if cut || pattern == "" || strings.HasSuffix(pattern, "/") || strings.ContainsAny(pattern, "*:") {
		return []string{"", path}
	}
	var values []string
	for {
		start := strings.IndexByte(pattern, '{')
		if start < 0 {
			return values
		}
		end := start + strings.IndexByte(pattern[start:], '}')
		if end < start {
			return []string{"", path}
		}
		name, many := strings.CutSuffix(pattern[start+1:end], "...")
		value := r.PathValue(name)
		switch {
		case value == "" && !many && name != "$":
			return []string{"", path}
		case name != "$":
			values = append(values, name, value)
		}
		pattern = pattern[end+1:]
	}
}

// sentPath is the path that the client sent. Something before the route may have cut it, as http.StripPrefix does: then
// the pattern does not tell what it was cut from, which may be a tenant's name.
func sentPath(r *http.Request) (path string, cut bool) {
	sent, _, _ := strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(sent, "/") || sent == r.URL.Path || sent == r.URL.EscapedPath() {
		return r.URL.Path, false
	}
	return sent, true
}
