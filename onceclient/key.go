package onceclient

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// HeaderKey is the field that carries the key (draft-ietf-httpapi-idempotency-key-header-07).
const HeaderKey = "Idempotency-Key"

// KeyBytesMax bounds a key, in bytes.
const KeyBytesMax = 255

// What is wrong with a request's key: nothing was sent.
var (
	// ErrNoKey: the request changes something and its context has no key. The transport makes none itself: it would be
	// another one for each attempt.
	ErrNoKey = errors.New("onceclient: the request has no key: make one for the intent with NewKey, keep it, and pass it by WithKey")
	// ErrKey: the key cannot be sent.
	ErrKey = errors.New("onceclient: the key must be 1 to 255 visible ASCII characters without quotes and backslashes")
	// ErrOtherHost: a redirect leads to another host, which cannot know the key.
	ErrOtherHost = errors.New("onceclient: the request is redirected to another host, where its key means nothing")
)

type keyOf struct{}

// NewKey makes a key for one intent: 26 characters from 128 random bits or more. Call it once for the intent, before the first
// send, and store it with what is sent.
func NewKey() string { return rand.Text() }

// WithKey gives the requests under ctx the intent's key.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

// keyFor is the key that r is sent with: its context's, or the one that its header has already.
func keyFor(r *http.Request) (string, error) {
	key, _ := r.Context().Value(keyOf{}).(string)
	switch values := r.Header.Values(HeaderKey); {
	case len(values) > 1 || len(values) == 1 && key != "" && unquoted(values[0]) != key:
		return "", fmt.Errorf("%w: the request's header has another one", ErrKey)
	case len(values) == 1:
		key = unquoted(values[0])
	case key == "":
		return "", ErrNoKey
	}
	if len(key) == 0 || len(key) > KeyBytesMax || strings.IndexFunc(key, unsendable) >= 0 {
		return "", ErrKey
	}
	if r.Response != nil && !sameHost(r.URL, r.Response.Request.URL) {
		return "", ErrOtherHost
	}
	return key, nil
}

func unquoted(value string) string {
	if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
		return value[1 : len(value)-1]
	}
	return value
}

func unsendable(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }

func sameHost(a, b *url.URL) bool { return strings.EqualFold(a.Host, b.Host) && a.Scheme == b.Scheme }
