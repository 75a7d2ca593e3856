package httponce_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/memstore"
)

// ledger is a database of one table: rows that an attempt inserts are there once it has committed.
type ledger struct {
	mu   sync.Mutex
	rows []string
}

func (l *ledger) begin() *ledgerTx { return &ledgerTx{ledger: l} }

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rows)
}

type ledgerTx struct {
	ledger *ledger
	rows   []string
}

func (x *ledgerTx) insert(row string) { x.rows = append(x.rows, row) }

// Commit is called by memstore.
func (x *ledgerTx) Commit(context.Context) error {
	x.ledger.mu.Lock()
	defer x.ledger.mu.Unlock()
	x.ledger.rows = append(x.ledger.rows, x.rows...)
	return nil
}

// Rollback is called by memstore.
func (x *ledgerTx) Rollback(context.Context) error { return nil }

// countingStore counts claims and can be made to fail them.
type countingStore struct {
	onceward.Store[*ledgerTx]
	claims atomic.Int32
	fail   error
	save   func(onceward.Attempt[*ledgerTx], onceward.Outcome) error
}

func (s *countingStore) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[*ledgerTx], *onceward.Record, error) {
	s.claims.Add(1)
	if s.fail != nil {
		return nil, nil, s.fail
	}
	attempt, record, err := s.Store.Claim(ctx, want, wait)
	if attempt != nil && s.save != nil {
		attempt = failingSave{attempt, s.save}
	}
	return attempt, record, err
}

type failingSave struct {
	onceward.Attempt[*ledgerTx]
	save func(onceward.Attempt[*ledgerTx], onceward.Outcome) error
}

func (a failingSave) Save(_ context.Context, o onceward.Outcome) (bool, error) {
	return false, a.save(a.Attempt, o)
}

// service is a server on real TCP with one door, whose callers say who they are in the field Caller ("tenant/principal").
type service struct {
	*httptest.Server
	t       *testing.T
	ledger  *ledger
	store   *countingStore
	clock   *atomic.Int64 // nanoseconds that the store's clock is ahead
	engine  *onceward.Engine[*ledgerTx]
	door    *httponce.Door[*ledgerTx]
	mux     *http.ServeMux
	reports chan error
}

type setup struct {
	options httponce.Options
	engine  onceward.Options
	outer   func(http.Handler) http.Handler
}

func newService(t *testing.T, s setup) *service {
	t.Helper()
	l := &ledger{}
	memory := memstore.New(l.begin)
	clock := &atomic.Int64{}
	memory.Now = func() time.Time { return time.Now().Add(time.Duration(clock.Load())) }
	v := &service{t: t, ledger: l, clock: clock, mux: http.NewServeMux(), store: &countingStore{Store: memory}, reports: make(chan error, 100)}
	var err error
	if v.engine, err = onceward.New(onceward.Store[*ledgerTx](v.store), s.engine); err != nil {
		t.Fatal(err)
	}
	if s.options.Scope == nil {
		s.options.Scope = callerOf
	}
	if s.options.Report == nil {
		s.options.Report = func(_ *http.Request, err error) { v.reports <- err }
	}
	if v.door, err = httponce.New(v.engine, s.options); err != nil {
		t.Fatal(err)
	}
	handler := http.Handler(v.mux)
	if s.outer != nil {
		handler = s.outer(handler)
	}
	v.Server = httptest.NewUnstartedServer(handler)
	v.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	v.Start()
	v.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(v.Close)
	return v
}

func callerOf(r *http.Request) (onceward.Scope, error) {
	tenant, principal, ok := strings.Cut(r.Header.Get("Caller"), "/")
	if !ok {
		return onceward.Scope{}, errors.New("no credentials")
	}
	return onceward.Scope{Tenant: tenant, Principal: principal}, nil
}

// order is the input of the orders route.
type order struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Lines    []struct {
		Cents int64 `json:"cents"`
	} `json:"lines,omitempty"`
}

// Validate implements what JSON asks for.
func (o *order) Validate() error {
	if o.Quantity < 0 {
		return errors.New("the quantity must not be negative")
	}
	return nil
}

// orders serves POST /orders by a handler that inserts a row and answers with its number.
func (s *service) orders(op *onceward.Operation) {
	var number atomic.Int32
	s.mux.Handle("POST /orders", httponce.JSON(s.door, op, func(_ context.Context, tx *ledgerTx, in order) (*httponce.Answer, error) {
		n := number.Add(1)
		tx.insert(in.SKU)
		return httponce.Created(fmt.Sprintf("/orders/%d", n), map[string]any{"number": n, "sku": in.SKU}), nil
	}))
}

// handle serves POST /orders by h.
func (s *service) handle(op *onceward.Operation, h func(w http.ResponseWriter, r *http.Request, tx *ledgerTx) error) {
	s.mux.Handle("POST /orders", s.door.Handle(op, h))
}

// reply is an answer as a client sees it.
type reply struct {
	status int
	header http.Header
	body   string
}

func (r reply) code() string {
	var p httponce.Problem
	_ = json.Unmarshal([]byte(r.body), &p)
	return p.Code
}

func (r reply) detail() string {
	var p httponce.Problem
	_ = json.Unmarshal([]byte(r.body), &p)
	return p.Detail
}

// request makes POST /orders of alice with the key.
func (s *service) request(key, body string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.URL+"/orders", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept-Encoding", "identity") // keeps the client from decoding
	r.Header.Set("Caller", "acme/alice")
	r.Header.Set(httponce.HeaderKey, key)
	return r
}

// do sends r. It may be called from other goroutines: a failure is an empty reply.
func (s *service) do(r *http.Request) reply {
	response, err := s.Client().Do(r)
	if err != nil {
		s.t.Error(err)
		return reply{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Error(err)
	}
	return reply{response.StatusCode, response.Header, string(body)}
}

func (s *service) post(key, body string) reply { return s.do(s.request(key, body)) }

// want fails unless the answer has the status and, if it is a problem, the code.
func (r reply) want(t *testing.T, status int, code string) reply {
	t.Helper()
	if r.status != status || r.code() != code {
		t.Fatalf("answered %d %q, want %d %q: %s", r.status, r.code(), status, code, r.body)
	}
	if code != "" && r.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("a problem as %q", r.header.Get("Content-Type"))
	}
	return r
}

func (r reply) replayed() bool { return r.header.Get(httponce.HeaderReplayed) == "true" }

// wantRows fails unless so many rows are committed.
func (s *service) wantRows(n int) {
	s.t.Helper()
	if got := s.ledger.count(); got != n {
		s.t.Fatalf("%d rows, want %d", got, n)
	}
}

// wantClaims fails unless the store was asked so many times.
func (s *service) wantClaims(n int) {
	s.t.Helper()
	if got := int(s.store.claims.Load()); got != n {
		s.t.Fatalf("%d claims, want %d", got, n)
	}
}

const book = `{"sku":"BOOK","quantity":2}`

// noMemory makes every retry go to the store.
var noMemory = onceward.Options{MemoryBytesMax: -1}
