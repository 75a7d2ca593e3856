package conformtest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
)

// BenchBody is what a benchmark's requests have, and what its handlers answer with 201: 1 KiB of JSON.
var BenchBody = []byte(`{"sku":"BOOK","quantity":2,"note":"` + strings.Repeat("n", 1024-36) + `"}`)

// Bench measures first requests and retries of an adapter's route /orders in handler, beside the plain door's in the same
// framework: what is between them is the adapter.
func Bench(b *testing.B, serve func(door *httponce.Door[*conform.Tx], adapter bool) http.Handler) {
	for _, side := range []string{"adapter", "plain door"} {
		for _, retry := range []bool{false, true} {
			name := side + ", first"
			if retry {
				name = side + ", retry"
			}
			b.Run(name, func(b *testing.B) {
				requests(b, serve(New(b, httponce.Options{}).Door, side == "adapter"), retry)
			})
		}
	}
}

// requests sends one request after the other, each under a key of its own unless it is a retry of the first.
func requests(b *testing.B, handler http.Handler, retry bool) {
	body := &benchBody{}
	r := httptest.NewRequest(http.MethodPost, "/orders", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer alice")
	w := &benchRecorder{header: http.Header{}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key := "key"
		if !retry {
			key += strconv.Itoa(i)
		}
		body.Reset(BenchBody)
		r.Body, r.ContentLength = body, int64(len(BenchBody))
		r.Header[httponce.HeaderKey] = []string{key}
		clear(w.header)
		handler.ServeHTTP(w, r)
		if w.status != http.StatusCreated || (w.header[httponce.HeaderReplayed] != nil) != (retry && i > 0) {
			b.Fatalf("request %d was answered with %d %v", i, w.status, w.header)
		}
	}
}

type benchBody struct{ bytes.Reader }

// Close implements io.Closer.
func (*benchBody) Close() error { return nil }

// benchRecorder keeps nothing of what it is written.
type benchRecorder struct {
	header http.Header
	status int
}

func (w *benchRecorder) Header() http.Header         { return w.header }
func (w *benchRecorder) WriteHeader(status int)      { w.status = status }
func (w *benchRecorder) Write(p []byte) (int, error) { return len(p), nil }
