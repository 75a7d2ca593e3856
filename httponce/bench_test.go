package httponce_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/memstore"
)

// The door's own cost: a handler that answers what it got, 1 KiB of JSON, without a network, and a store in memory.
// Reading and decoding the input is part of it.

type benchInput struct {
	Customer string      `json:"customer"`
	Lines    []benchLine `json:"lines"`
	Note     string      `json:"note"`
}

type benchLine struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"`
}

func benchBody() string {
	var lines []string
	for i := range 16 {
		lines = append(lines, fmt.Sprintf(`{"sku":"BOOK-%04d","quantity":%d,"cents":9900}`, i, i+1))
	}
	body := `{"customer":"acme","lines":[` + strings.Join(lines, ",") + `],"note":""}`
	return strings.Replace(body, `"note":""`, `"note":"`+strings.Repeat("n", 1024-len(body))+`"`, 1)
}

func newBenchDoor(b *testing.B) *httponce.Door[tx] {
	b.Helper()
	engine, err := onceward.New(memstore.New(func() tx { return tx{} }), onceward.Options{MemoryBytesMax: 4 << 20})
	if err != nil {
		b.Fatal(err)
	}
	door, err := httponce.New(engine, httponce.Options{
		Scope: func(*http.Request) (onceward.Scope, error) {
			return onceward.Scope{Tenant: "acme", Principal: "alice"}, nil
		},
		Authorize: func(*http.Request, onceward.Command) error { return nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	return door
}

var benchOperation = &onceward.Operation{Name: "bench.v1"}

// silent is a ResponseWriter that keeps nothing, so that the door is measured and not the recorder.
type silent struct {
	header http.Header
	status int
}

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) WriteHeader(status int)      { s.status = status }
func (s *silent) Write(p []byte) (int, error) { return len(p), nil }

// benchDoor sends requests, a new key each unless retry.
func benchDoor(b *testing.B, handler http.Handler, retry bool) {
	body := benchBody()
	reader := strings.NewReader(body)
	r := httptest.NewRequest("POST", "/orders", nil)
	r.Header.Set("Content-Type", "application/json")
	w := &silent{header: http.Header{}}
	send := func(key string) {
		reader.Reset(body)
		r.Body, r.ContentLength = struct {
			*strings.Reader
			noClose
		}{reader, noClose{}}, int64(len(body))
		r.Header["Idempotency-Key"] = []string{key}
		clear(w.header)
		handler.ServeHTTP(w, r)
		if w.status != http.StatusCreated {
			b.Fatalf("status %d", w.status)
		}
	}
	send("first")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key := "first"
		if !retry {
			key = strconv.Itoa(i)
		}
		send(key)
	}
}

type noClose struct{}

func (noClose) Close() error { return nil }

func benchJSON(b *testing.B) http.Handler {
	return httponce.JSON(newBenchDoor(b), benchOperation, func(_ context.Context, _ tx, in benchInput) (*httponce.Answer, error) {
		return httponce.Created("/orders/1", in), nil
	})
}

func benchHandle(b *testing.B) http.Handler {
	answer := []byte(benchBody())
	return newBenchDoor(b).Handle(benchOperation, func(w http.ResponseWriter, _ *http.Request, _ tx) error {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, err := w.Write(answer)
		return err
	})
}

func BenchmarkDoorFirst(b *testing.B) {
	b.Run("handle", func(b *testing.B) { benchDoor(b, benchHandle(b), false) })
	b.Run("json", func(b *testing.B) { benchDoor(b, benchJSON(b), false) })
}

func BenchmarkDoorRetry(b *testing.B) {
	b.Run("handle", func(b *testing.B) { benchDoor(b, benchHandle(b), true) })
	b.Run("json", func(b *testing.B) { benchDoor(b, benchJSON(b), true) })
}
