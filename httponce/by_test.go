package httponce_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// payment is the input of the payments route, which the channel's number identifies.
type payment struct {
	Channel string `json:"channel"`
	Number  string `json:"number"`
	Cents   int64  `json:"cents"`
}

func (s *service) payments(op *onceward.Operation) {
	by := func(_ *http.Request, in payment) (string, error) {
		if in.Channel == "unknown" {
			return "", errors.New("the channel is not known")
		}
		if in.Channel == "" && in.Number == "" {
			return "", nil
		}
		return onceward.KeyOf(in.Channel, in.Number), nil
	}
	s.mux.Handle("POST /payments", httponce.JSONBy(s.door, op, by, func(ctx context.Context, tx *ledgerTx, in payment) (*httponce.Answer, error) {
		tx.insert(httponce.CallFrom(ctx).Key)
		return httponce.Created("/payments/"+in.Number, in), nil
	}))
}

func (s *service) pay(caller, body string) reply {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.URL+"/payments", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Caller", caller)
	return s.do(r)
}

func TestR3_1_TheBusinessNamesTheAction(t *testing.T) {
	t.Parallel()
	for name, engine := range map[string]onceward.Options{"memory": {}, "store": noMemory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLookup(t, setup{engine: engine, options: httponce.Options{Statuses: httponce.Statuses{Reused: 409, ReusedCode: "payment_mismatch"}}})
			s.payments(&onceward.Operation{Name: "pay.v1", Per: onceward.Tenant})
			first := s.pay("acme/alice", `{"channel":"a","number":"1","cents":100}`).want(t, 201, "")
			again := s.pay("acme/bob", ` {"cents":100.0,"number":"1","channel":"a"}`)
			if strings.Contains(again.body, "Idempotency-Key") || again.status != 400 { // an integer must be written as one
				t.Errorf("got %d with %s", again.status, again.body)
			}
			again = s.pay("acme/bob", ` {"cents":100,"number":"1","channel":"a"}`).want(t, 201, "")
			if again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("the repeat is %v with %s, want the first answer", again.header, again.body)
			}
			changed := s.pay("acme/alice", `{"channel":"a","number":"1","cents":101}`).want(t, 409, "payment_mismatch")
			if strings.Contains(changed.body, "Idempotency-Key") {
				t.Errorf("the caller has sent no key: %s", changed.body)
			}
			s.pay("acme/alice", `{"channel":"a/1","number":"","cents":100}`).want(t, 201, "")
			s.pay("globex/carol", `{"channel":"a","number":"1","cents":100}`).want(t, 201, "")
			if n := s.ledger.count(); n != 3 {
				t.Errorf("%d payments were made, want 3", n)
			}
			if _, f := s.lookup("pay.v1", "acme/alice", onceward.KeyOf("a", "1")); f.State != "completed" || f.Location != "/payments/1" {
				t.Errorf("looked up by its identity, the payment is %+v", f)
			}
		})
	}
}

func TestR3_1_WhatDoesNotNameAnActionIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.payments(&onceward.Operation{Name: "pay.v1"})
	for body, status := range map[string]int{
		``:                                     400,
		`{"channel":"a"`:                       400,
		`{"channel":"unknown","number":"1"}`:   400,
		`{"cents":100}`:                        400,
		`{"channel":"a","number":"1","x":100}`: 400,
		fmt.Sprintf(`{"channel":"a","number":"%s"}`, strings.Repeat("1", onceward.KeyBytesMax)): 400,
	} {
		got := s.pay("acme/alice", body).want(t, status, "body_invalid")
		if strings.Contains(body, "unknown") != strings.Contains(got.body, "the channel is not known") {
			t.Errorf("%.60s: the answer is %s", body, got.body)
		}
		if strings.Contains(got.body, "Idempotency-Key") {
			t.Errorf("%.60s: the answer speaks of a key: %s", body, got.body)
		}
	}
	s.pay("", `{"cents":"wrong"}`).want(t, 401, "unauthenticated")
	if n := s.ledger.count(); n != 0 {
		t.Errorf("%d payments were made", n)
	}
}

// What identifies the action may be longer than a client's key, and in any script.
func TestR3_11_AnActionIsLookedUpByItsName(t *testing.T) {
	t.Parallel()
	s := newLookup(t, setup{engine: noMemory})
	s.payments(&onceward.Operation{Name: "pay.v1", Per: onceward.Tenant})
	long := strings.Repeat("1", 300)
	s.pay("acme/alice", `{"channel":"a","number":"`+long+`"}`).want(t, 201, "")
	s.pay("acme/alice", `{"channel":"bücher","number":"1 \"%"}`).want(t, 201, "")
	for _, key := range []string{"a/" + long, `%"b%c3%bccher/1 %22%25"`, `%"a/` + long + `"`} {
		if answer, f := s.lookup("pay.v1", "acme/bob", key); f.State != "completed" {
			t.Errorf("%.40s: %d %s", key, answer.status, answer.body)
		}
	}
	for _, key := range []string{`%"b%c3%bccher/1`, `%"b%zz"`, `%"bü"`, `%"a"b"`, `%"` + strings.Repeat("%c3", onceward.KeyBytesMax+1) + `"`, "bücher/1"} {
		if answer, _ := s.lookup("pay.v1", "acme/alice", key); answer.status != 400 {
			t.Errorf("%.40s: %d %s", key, answer.status, answer.body)
		}
	}
}

func TestWhatCannotBeServedPanics(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(create)
	for what, register := range map[string]func(){
		"an operation with another's name": func() {
			other := *create
			s.door.Handle(&other, nil)
		},
		"a window where there is always a key": func() { s.payments(&onceward.Operation{Name: "pay.v1", Window: time.Second}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is served", what)
				}
			}()
			register()
		}()
	}
}

// Whoever has sent no key must not be told to send it again: a key that he invents is another action.
func TestR3_5_WhoHasNoKeyIsToldOfNone(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	running, end := make(chan struct{}), make(chan struct{})
	s.handle(&onceward.Operation{Name: "export.v1", Window: time.Minute}, func(w http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
		close(running)
		<-end
		return nil
	})
	first := make(chan reply, 1)
	go func() { first <- s.keyless(book) }()
	<-running
	if told := s.keyless(book).want(t, 409, "in_flight"); strings.Contains(strings.ToLower(told.body), "key") {
		t.Errorf("the duplicate is told %s", told.body)
	}
	close(end)
	(<-first).want(t, 200, "")
}

// keyless is post without the field.
func (s *service) keyless(body string) reply {
	s.t.Helper()
	r := s.request("", body)
	r.Header.Del(httponce.HeaderKey)
	return s.do(r)
}

func TestR3_5_WithoutAKeyTheContentNamesTheAction(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{engine: noMemory})
	s.orders(&onceward.Operation{Name: "export.v1", Window: 5 * time.Second, Retention: time.Hour})
	first := s.keyless(book).want(t, 201, "")
	if again := s.keyless(book).want(t, 201, ""); again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" ||
		again.header.Get("Idempotency-Id") != first.header.Get("Idempotency-Id") {
		t.Errorf("the repeat is %v with %s, want the first answer", again.header, again.body)
	}
	s.keyless(other).want(t, 201, "")
	s.post("k1", book).want(t, 201, "") // F40: whoever brings a key means an action of its own
	s.post("k2", book).want(t, 201, "")
	s.clock.Add(int64(5 * time.Second))
	s.keyless(book).want(t, 201, "")
	s.post("k1", book).want(t, 201, "")
	s.post("k1", other).want(t, 422, "key_reused")
	if n := s.ledger.count(); n != 5 {
		t.Errorf("%d actions were carried out, want 5", n)
	}
	s.keyless("{").want(t, 400, "body_invalid")
	s.post("", book).want(t, 400, "key_malformed")
}

func TestR3_7_TheTokenNamesTheAction(t *testing.T) {
	t.Parallel()
	s := newLookup(t, setup{engine: noMemory, options: httponce.Options{Statuses: httponce.Statuses{TokenExpiredCode: "quote_expired"}}})
	op := &onceward.Operation{Name: "confirm.v1", Submit: 5 * time.Minute, Retention: time.Hour}
	s.orders(op)
	issue := func() string {
		tx := s.ledger.begin()
		token, err := s.engine.Issue(t.Context(), tx, op, onceward.Scope{Tenant: "acme", Principal: "alice"}, "quote 1")
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	token, unused := issue(), issue()
	if _, f := s.lookup("confirm.v1", "acme/alice", token); f.State != "issued" || f.ExpiresAt.IsZero() {
		t.Errorf("looked up, the token is %+v", f)
	}
	s.post("guess", book).want(t, 404, "token_unknown")
	first := s.post(token, book).want(t, 201, "")
	s.clock.Add(int64(6 * time.Minute))
	if again := s.post(token, book).want(t, 201, ""); again.body != first.body {
		t.Errorf("the repeat is %s", again.body)
	}
	s.post(token, other).want(t, 422, "key_reused")
	s.post(unused, book).want(t, 410, "quote_expired")
	if _, f := s.lookup("confirm.v1", "acme/alice", unused); f.State != "expired" {
		t.Errorf("looked up, the token is %+v", f)
	}
	if n := s.ledger.count(); n != 1 {
		t.Errorf("%d actions were carried out, want 1", n)
	}
}
