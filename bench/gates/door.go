package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/bench"
	"github.com/onceward/onceward/httponce"
)

const microsPerSecond = 1e6

var doorOperation = &onceward.Operation{Name: "door.v1"}

// door sends requests through the HTTP door, without a socket and without a database.
var door = trial{
	gates: []gate{
		{name: "HTTP door, 1 KiB JSON: first", unit: " µs", decimals: 1, most: true, need: 15, aim: 8},
		{name: "HTTP door, 1 KiB JSON: identical retry", unit: " µs", decimals: 1, most: true, need: 3, aim: 2},
	},
	measure: func(ctx context.Context, l *lab) ([]figure, error) {
		copies, err := newDoor()
		if err != nil {
			return nil, err
		}
		decodes, err := newDoor()
		if err != nil {
			return nil, err
		}
		typed := httponce.JSON(decodes, doorOperation, func(_ context.Context, _ bench.NoTx, in bench.Cart) (*httponce.Answer, error) {
			return httponce.Created("/orders/1", in), nil
		})
		return l.doorFigures(ctx, copies.Handle(doorOperation, copied), typed)
	},
}

func newDoor() (*httponce.Door[bench.NoTx], error) {
	engine, err := onceward.New(bench.Nowhere{}, onceward.Options{})
	if err != nil {
		return nil, err
	}
	return httponce.New(engine, httponce.Options{
		Scope:     func(*http.Request) (onceward.Scope, error) { return bench.Caller, nil },
		Authorize: func(*http.Request, onceward.Command) error { return nil },
	})
}

// copied answers with what it was sent.
func copied(w http.ResponseWriter, r *http.Request, _ bench.NoTx) error {
	w.Header()["Content-Type"] = []string{"application/json"}
	w.WriteHeader(http.StatusCreated)
	_, err := io.Copy(w, r.Body)
	return err
}

// decoded is what a handler without the door does that takes and gives a value, as that of httponce.JSON does.
func decoded(w http.ResponseWriter, r *http.Request) {
	var in bench.Cart
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header()["Content-Type"] = []string{"application/json"}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(in)
}

func (l *lab) doorFigures(ctx context.Context, raw, typed http.Handler) ([]figure, error) {
	body := bench.CartJSON()
	var err error
	took := func(handler http.Handler, retry bool) []float64 {
		if err != nil {
			return nil
		}
		var rates []float64
		rates, err = bench.Repeat(ctx, l.rounds, bench.Alone(l.window/4, requests(handler, body, retry)))
		return inMicros(rates)
	}
	first, retry := took(raw, false), took(raw, true)
	firstTyped, retryTyped, alone := took(typed, false), took(typed, true), took(http.HandlerFunc(decoded), false)
	if err != nil {
		return nil, err
	}
	same := fmt.Sprintf("ServeHTTP, request and recorder used again, the store keeps nothing, processor time of the thread; SHA-256 of the body alone takes %.1f µs",
		bench.Median(hashing(ctx, l, body)))
	return []figure{
		{bench.Median(first), fmt.Sprintf("%s, a handler that copies its body included; %s; httponce.JSON %.1f µs, beside %.1f µs of decoding and encoding without the door",
			spread(first, "%.1f"), same, bench.Median(firstTyped), bench.Median(alone))},
		{bench.Median(retry), fmt.Sprintf("%s; %s; httponce.JSON %.1f µs", spread(retry, "%.1f"), same, bench.Median(retryTyped))},
	}, nil
}

// hashing tells how fast the machine is at this moment, in microseconds.
func hashing(ctx context.Context, l *lab, body []byte) []float64 {
	rates, _ := bench.Repeat(ctx, l.rounds, bench.Alone(l.window/20, func(context.Context, int) error { // cannot fail
		sha256.Sum256(body)
		return nil
	}))
	return inMicros(rates)
}

// inMicros turns what is done in a second into the microseconds that one takes.
func inMicros(rates []float64) []float64 {
	for i := range rates {
		rates[i] = microsPerSecond / rates[i]
	}
	return rates
}

// requests sends one request after the other, each under a key of its own unless it is a retry of the first.
func requests(handler http.Handler, body []byte, retry bool) func(context.Context, int) error {
	content := &requestBody{}
	r, _ := http.NewRequest(http.MethodPost, "/orders", nil) // the URL is valid
	r.Pattern, r.Body, r.ContentLength = "POST /orders", content, int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	key := make([]string, 1)
	r.Header[httponce.HeaderKey] = key
	w := &recorder{header: http.Header{}}
	return func(_ context.Context, i int) error {
		if key[0] = "8e03978e-40d5-43dd-bc93-6894a57f9324"; !retry {
			key[0] = "8e03978e-40d5-43dd-bc93-" + strconv.Itoa(1e11+i)
		}
		r.Body = content
		content.Reset(body)
		w.status, w.written = 0, 0
		clear(w.header)
		handler.ServeHTTP(w, r)
		if replayed := w.header[httponce.HeaderReplayed] != nil; w.status != http.StatusCreated || w.written < len(body) || replayed != (retry && i > 0) {
			return fmt.Errorf("request %d was answered with %d, %d bytes, replayed %v", i, w.status, w.written, replayed)
		}
		return nil
	}
}

type requestBody struct{ bytes.Reader }

// Close implements io.Closer.
func (*requestBody) Close() error { return nil }

// recorder counts what it is written and keeps none of it.
type recorder struct {
	header  http.Header
	status  int
	written int
}

func (w *recorder) Header() http.Header    { return w.header }
func (w *recorder) WriteHeader(status int) { w.status = status }
func (w *recorder) Write(p []byte) (int, error) {
	w.written += len(p)
	return len(p), nil
}
