package httponce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
	"github.com/onceward/onceward/httponce"
)

// gated serves POST /orders by a handler that says when it starts and goes on when it is let.
type gated struct {
	started chan struct{}
	end     chan error // what the handler returns
}

func (s *service) gated(op *onceward.Operation) gated {
	g := gated{started: make(chan struct{}, 100), end: make(chan error)}
	s.handle(op, func(w http.ResponseWriter, r *http.Request, tx *ledgerTx) error {
		tx.insert("row")
		g.started <- struct{}{}
		if err := <-g.end; err != nil {
			return err
		}
		w.Header().Set("Set-Cookie", "first=caller")
		w.WriteHeader(201)
		_, err := io.Copy(w, r.Body)
		return err
	})
	return g
}

// sent is a request under way.
func (s *service) sent(r *http.Request) <-chan reply {
	answer := make(chan reply, 1)
	go func() { answer <- s.do(r) }()
	return answer
}

const other = `{"sku":"PEN","quantity":1}`

func TestF06WhatADuplicateIsToldWhileTheFirstRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		statuses         httponce.Statuses
		running, changed int
		codes            [2]string
	}{
		{"draft 07", httponce.Statuses{}, 409, 422, [2]string{"in_flight", "key_reused"}},
		{"draft 07 by name", httponce.Draft07, 409, 422, [2]string{"in_flight", "key_reused"}},
		{"conflict", httponce.Conflict409, 409, 409, [2]string{"in_flight", "key_reused"}},
		{"own codes", httponce.Statuses{Reused: 409, ReusedCode: "40902", InFlightCode: "40901"}, 409, 409, [2]string{"40901", "40902"}},
	} {
		s := newService(t, setup{options: httponce.Options{Statuses: c.statuses, RetryAfter: 1500 * time.Millisecond}})
		g := s.gated(create)
		first := s.sent(s.request("k", book))
		<-g.started
		same := s.post("k", book).want(t, c.running, c.codes[0])
		if same.header.Get("Retry-After") != "2" {
			t.Errorf("%s: Retry-After %q", c.name, same.header.Get("Retry-After"))
		}
		s.post("k", other).want(t, c.changed, c.codes[1])
		g.end <- nil
		answer := <-first
		answer.want(t, 201, "")
		for _, refusal := range []reply{same, s.post("k", other).want(t, c.changed, c.codes[1])} {
			if id := refusal.header.Get(httponce.HeaderID); id == "" || id != answer.header.Get(httponce.HeaderID) || !strings.Contains(refusal.body, id) {
				t.Errorf("%s: the refusal's id is %q: %s", c.name, id, refusal.body)
			}
			if strings.Contains(refusal.body, "BOOK") {
				t.Errorf("%s: the first caller's data in a refusal: %s", c.name, refusal.body)
			}
		}
		s.wantRows(1)
	}
}

func TestBoundedWaitEndsInARefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		statuses httponce.Statuses
		want     int
	}{{httponce.Draft07, 503}, {httponce.Conflict409, 409}, {httponce.Statuses{InFlightAfterWait: 425}, 425}} {
		s := newService(t, setup{options: httponce.Options{Statuses: c.statuses}})
		g := s.gated(&onceward.Operation{Name: "wait.v1", Wait: time.Millisecond})
		first := s.sent(s.request("k", book))
		<-g.started
		if refusal := s.post("k", book).want(t, c.want, "in_flight"); refusal.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After %q", refusal.header.Get("Retry-After"))
		}
		g.end <- nil
		(<-first).want(t, 201, "")
		if !s.post("k", book).want(t, 201, "").replayed() {
			t.Error("the caller that came again got no replay")
		}
	}
}

func TestTwelveSimultaneousRequestsAreOneOrder(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	g := s.gated(&onceward.Operation{Name: "wait.v1", Wait: time.Minute})
	var answers []<-chan reply
	for range 12 {
		answers = append(answers, s.sent(s.request("k", book)))
	}
	<-g.started
	g.end <- nil
	replays := 0
	for _, answer := range answers {
		got := <-answer
		if got.status != 201 || got.body != book {
			t.Errorf("%d %q", got.status, got.body)
		}
		if got.replayed() {
			replays++
			if got.header.Get("Set-Cookie") != "" {
				t.Error("the first caller's cookie was replayed")
			}
		}
	}
	if replays != 11 {
		t.Errorf("%d replays", replays)
	}
	s.wantRows(1)
}

// An operation that waits is decided by the committed record alone: a wrong first request that rolls back does not refuse
// the right one.
func TestF06OverlappingChangedPayloads(t *testing.T) {
	t.Parallel()
	waits := &onceward.Operation{Name: "wait.v1", Wait: time.Minute}
	for _, c := range []struct {
		name string
		end  error
		want int
	}{{"the first commits", nil, 422}, {"the first is rolled back", httponce.Refuse(409, "sold out"), 201}} {
		identified := make(chan struct{}, 10)
		s := newService(t, setup{engine: onceward.Options{Observer: signal{onceward.StepIdentify, identified}}})
		g := s.gated(waits)
		first := s.sent(s.request("k", book))
		<-g.started
		<-identified
		second := s.sent(s.request("k", other))
		<-identified
		g.end <- c.end
		<-first
		if c.want == 201 {
			<-g.started
			g.end <- nil
		}
		if got := <-second; got.status != c.want {
			t.Errorf("%s: the other got %d %s", c.name, got.status, got.body)
		}
		s.wantRows(1)
	}
}

// signal tells the ends of a step.
type signal struct {
	step onceward.Step
	to   chan<- struct{}
}

// Start implements onceward.Observer.
func (signal) Start(ctx context.Context, _ onceward.Event) context.Context { return ctx }

// End implements onceward.Observer.
func (s signal) End(_ context.Context, e onceward.Event) {
	if e.Step == s.step {
		s.to <- struct{}{}
	}
}

// following starts a request whose work runs and another that waits for it, and returns both. Of two duplicates one more
// than the engine lets wait is refused: then the other waits.
func (s *service) following(g gated) (first, follower <-chan reply) {
	first = s.sent(s.request("k", book))
	<-g.started
	a, b := s.sent(s.request("k", book)), s.sent(s.request("k", book))
	select {
	case refused := <-a:
		refused.want(s.t, 503, "in_flight")
		return first, b
	case refused := <-b:
		refused.want(s.t, 503, "in_flight")
		return first, a
	}
}

func TestFollowersShareARefusalButNotItsCookies(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{engine: onceward.Options{FollowersMax: 1}})
	g := s.gated(&onceward.Operation{Name: "wait.v1", Wait: time.Minute})
	first, follower := s.following(g)
	refusal := httponce.Refuse(409, "sold out")
	refusal.Header = http.Header{"Set-Cookie": {"first=caller"}, "Etag": {`"v1"`}}
	g.end <- refusal
	a, b := <-first, <-follower
	if a.status != 409 || b.status != 409 || a.body != b.body {
		t.Errorf("%d %s, %d %s", a.status, a.body, b.status, b.body)
	}
	if a.header.Get("Set-Cookie") == "" || b.header.Get("Set-Cookie") != "" || b.header.Get("Etag") == "" {
		t.Errorf("%v, %v", a.header, b.header)
	}
	s.wantRows(0)
}

func TestFailureIsReportedOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{engine: onceward.Options{FollowersMax: 1}})
	g := s.gated(&onceward.Operation{Name: "wait.v1", Wait: time.Minute})
	first, follower := s.following(g)
	g.end <- errors.New("boom")
	failed := (<-first).want(t, 500, "internal")
	(<-follower).want(t, 500, "internal")
	if id := failed.header.Get(httponce.HeaderID); id == "" || !strings.Contains(failed.body, id) {
		t.Errorf("the answer does not name the result: %v %s", failed.header, failed.body)
	}
	if len(s.reports) != 1 {
		t.Errorf("reported %d times", len(s.reports))
	}
}

func TestAuthorizationIsAskedBeforeWhateverDependsOnARecord(t *testing.T) {
	t.Parallel()
	var withdrawn atomic.Bool
	s := newService(t, setup{engine: noMemory, options: httponce.Options{Authorize: func(r *http.Request, c onceward.Command) error {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(body) == 0 || c.Key == "" || c.Scope.Principal != "alice" || c.Operation == nil {
			t.Errorf("asked with %q, %v", body, c)
		}
		if withdrawn.Load() {
			return errors.New("alice left the team")
		}
		return nil
	}}})
	g := s.gated(&onceward.Operation{Name: "create.v1", Retention: time.Hour, RefuseExpired: time.Hour})
	first := s.sent(s.request("done", book))
	<-g.started
	g.end <- nil
	if answer := <-first; answer.body != book {
		t.Errorf("the handler reads a body that Authorize has read: %q", answer.body)
	}
	running := s.sent(s.request("running", book))
	<-g.started
	steps := []struct {
		name, key, body string
		status          int
		ahead           time.Duration
	}{
		{"replay", "done", book, 201, 0},
		{"conflict", "done", other, 422, 0},
		{"in flight", "running", book, 409, 0},
		{"expired", "done", book, 410, 90 * time.Minute},
	}
	for _, c := range steps {
		s.clock.Store(int64(c.ahead))
		withdrawn.Store(false)
		if got := s.post(c.key, c.body); got.status != c.status {
			t.Errorf("%s, permitted: %d", c.name, got.status)
		}
		withdrawn.Store(true)
		got := s.post(c.key, c.body)
		if got.status != 403 || got.code() != "forbidden" || got.header.Get(httponce.HeaderID) != "" || strings.Contains(got.body, "alice") {
			t.Errorf("%s, withdrawn: %d %s", c.name, got.status, got.body)
		}
	}
	g.end <- nil
	<-running
}

func TestAuthorizeMayAnswer(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{options: httponce.Options{Authorize: func(*http.Request, onceward.Command) error {
		return fmt.Errorf("not yours: %w", httponce.Refuse(404, "No such account."))
	}}})
	s.orders(create)
	if answer := s.post("k", book); answer.status != 404 || answer.detail() != "No such account." {
		t.Errorf("%d %s", answer.status, answer.body)
	}
	s.wantClaims(0)
}

func TestF19AnotherCallersKeyIsAnotherKey(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.orders(create)
	seen := map[string]string{}
	for _, caller := range []string{"acme/alice", "acme/bob", "globex/alice", "acme/alice2", "acmea/lice"} {
		r := s.request("k", book)
		r.Header.Set("Caller", caller)
		answer := s.do(r).want(t, 201, "")
		if other, taken := seen[answer.body]; taken || answer.replayed() {
			t.Errorf("%s got the answer of %s", caller, other)
		}
		seen[answer.body] = caller
	}
	s.wantRows(5)
}

func TestExpiredKeyIsClaimedAnewOrRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operation onceward.Operation
		status    int
		code      string
	}{
		{onceward.Operation{Name: "anew.v1", Retention: time.Hour}, 201, ""},
		{onceward.Operation{Name: "refused.v1", Retention: time.Hour, RefuseExpired: time.Hour}, 410, "expired"},
	} {
		s := newService(t, setup{engine: noMemory})
		s.orders(&c.operation)
		s.post("k", book).want(t, 201, "")
		s.clock.Store(int64(61 * time.Minute))
		if answer := s.post("k", book).want(t, c.status, c.code); answer.replayed() {
			t.Errorf("%s: replayed after its time", c.operation.Name)
		}
		s.clock.Store(int64(4 * time.Hour))
		s.post("k", book).want(t, 201, "")
	}
}

// sqlError is a driver's error with this SQLSTATE.
type sqlError string

func (e sqlError) Error() string    { return "the driver's text, which may quote what the caller sent" }
func (e sqlError) SQLState() string { return string(e) }

func TestStoreThatFailsIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		fail   error
		status int
		code   string
	}{
		{"down", fmt.Errorf("dial tcp 10.0.0.7: %w", onceward.ErrUnavailable), 503, "unavailable"},
		{"collision", onceward.ErrCollision, 500, "internal"},
		{"schema", onceward.ErrSchema, 500, "internal"},
		{"deadlock", sqlError("40P01"), 503, "not_committed"},
		{"serialization", fmt.Errorf("store: %w", sqlError("40001")), 503, "not_committed"},
		{"another state", sqlError("23505"), 500, "internal"},
		{"unresolved", fmt.Errorf("%w: %w", onceward.ErrCommitUnresolved, sqlError("40001")), 503, "unresolved"},
	} {
		s := newService(t, setup{})
		s.orders(create)
		s.store.fail = c.fail
		answer := s.post("k", book).want(t, c.status, c.code)
		if (answer.header.Get("Retry-After") == "1") != (c.status == 503) || strings.Contains(answer.body, "10.0.0.7") {
			t.Errorf("%s: %v %s", c.name, answer.header, answer.body)
		}
	}
}

func TestUnresolvedCommitIsSaidToBeUnknown(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{engine: onceward.Options{ResolveTimeout: time.Millisecond}})
	s.orders(create)
	s.store.save = func(attempt onceward.Attempt[*ledgerTx], o onceward.Outcome) error {
		_, err := attempt.Save(context.Background(), o) // it did commit, and nobody heard
		s.store.fail = onceward.ErrUnavailable
		return errors.Join(err, onceward.ErrCommitUnknown)
	}
	s.post("k", book).want(t, 503, "unresolved")
	s.store.fail = nil
	if !s.post("k", book).want(t, 201, "").replayed() {
		t.Error("the retry ran again")
	}
	s.wantRows(1)
}

func TestWorkThatTakesTooLong(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{engine: onceward.Options{WorkTimeout: time.Millisecond}})
	s.handle(create, func(_ http.ResponseWriter, r *http.Request, tx *ledgerTx) error {
		tx.insert("row")
		<-r.Context().Done()
		return r.Context().Err()
	})
	s.post("k", book).want(t, 503, "timed_out")
	s.wantRows(0)
}

func TestF03HangingUpInTheWorkLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{engine: onceward.Options{WorkTimeout: time.Hour}})
	started, ended := make(chan struct{}), make(chan struct{})
	var hangsUp atomic.Bool
	hangsUp.Store(true)
	s.handle(create, func(w http.ResponseWriter, r *http.Request, tx *ledgerTx) error {
		tx.insert("row")
		if !hangsUp.Load() {
			return nil
		}
		close(started)
		defer close(ended)
		<-r.Context().Done()
		return r.Context().Err()
	})
	ctx, hangUp := context.WithCancel(t.Context())
	go func() { <-started; hangUp() }()
	if response, err := s.Client().Do(s.request("k", book).WithContext(ctx)); err == nil {
		response.Body.Close()
		t.Fatal("the client did not hang up")
	}
	<-ended
	hangsUp.Store(false)
	// The rollback may still be under way; a duplicate is told so at once.
	for s.post("k", book).status == 409 {
	}
	if !s.post("k", book).want(t, 200, "").replayed() {
		t.Error("the retry was not recorded")
	}
	s.wantRows(1)
}

func TestF03HangingUpDoesNotUndoTheWork(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before the commit", "after the commit"} {
		s := newService(t, setup{engine: noMemory})
		s.orders(create)
		saving, gone, saved := make(chan struct{}), make(chan struct{}), make(chan struct{})
		s.store.save = func(attempt onceward.Attempt[*ledgerTx], o onceward.Outcome) error {
			defer close(saved)
			if when == "before the commit" {
				close(saving)
				<-gone
			}
			_, err := attempt.Save(context.Background(), o)
			if when == "after the commit" {
				close(saving)
				<-gone
			}
			return err
		}
		ctx, hangUp := context.WithCancel(t.Context())
		go func() { <-saving; hangUp() }()
		if response, err := s.Client().Do(s.request("k", book).WithContext(ctx)); err == nil {
			response.Body.Close()
			t.Fatal("the client did not hang up")
		}
		close(gone)
		<-saved
		again := s.post("k", book)
		for again.status == 409 {
			again = s.post("k", book)
		}
		if !again.want(t, 201, "").replayed() {
			t.Errorf("%s: the write was repeated", when)
		}
		s.wantRows(1)
	}
}

func TestPanicIsA500AndRolledBack(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"text": "card 4111", "error": errors.New("card 4111"), "runtime": nil} {
		s := newService(t, setup{})
		panics := true
		s.handle(create, func(w http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
			tx.insert("row")
			io.WriteString(w, "half an answer")
			switch {
			case panics && value == nil:
				_ = []int{}[tx.ledger.count()+1]
			case panics:
				panic(value)
			}
			return nil
		})
		answer := s.post("k", book).want(t, 500, "internal")
		if id := answer.header.Get(httponce.HeaderID); id == "" || !strings.Contains(answer.body, id) {
			t.Errorf("%s: the answer does not name the result: %v %s", name, answer.header, answer.body)
		}
		if strings.Contains(answer.body, "4111") || strings.Contains(answer.body, "goroutine") || strings.Contains(answer.body, "half") {
			t.Errorf("%s: %s", name, answer.body)
		}
		reported := (*httponce.PanicError)(nil)
		if err := <-s.reports; !errors.As(err, &reported) || strings.Contains(err.Error(), "4111") || !strings.Contains(string(reported.Stack), "flow_test.go") {
			t.Errorf("%s: reported %v", name, err)
		}
		s.wantRows(0)
		panics = false
		s.post("k", book).want(t, 200, "")
	}
}

func TestAbortAndGoexitCloseTheConnection(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){"abort": func() { panic(http.ErrAbortHandler) }, "goexit": runtime.Goexit} {
		s := newService(t, setup{})
		var ends atomic.Bool
		ends.Store(true)
		s.handle(create, func(_ http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
			tx.insert("row")
			if ends.Load() {
				end()
			}
			return nil
		})
		r := s.request("k", book)
		r.Header.Del(httponce.HeaderKey)
		r.Header["idempotency-key"] = []string{"k"} // the same field to the server; the client does not resend by itself
		r.GetBody = nil
		if response, err := s.Client().Do(r); err == nil {
			response.Body.Close()
			t.Errorf("%s: answered with %d", name, response.StatusCode)
		}
		s.wantRows(0)
		ends.Store(false)
		s.post("k", book).want(t, 200, "")
	}
}

func TestPanicOfScopeIsA500(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{options: httponce.Options{Scope: func(*http.Request) (onceward.Scope, error) { panic("no session store") }}})
	s.orders(create)
	s.post("k", book).want(t, 500, "internal")
}

func TestDefaultReportSaysNothingThatTheCallerSent(t *testing.T) { // not parallel: it replaces slog's default
	before := slog.Default()
	defer slog.SetDefault(before)
	var log bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	end := func() error { return fmt.Errorf("pay: %w", errors.New("card 4111 refused")) }
	s := newService(t, setup{})
	door, err := httponce.New(s.engine, httponce.Options{Scope: callerOf})
	if err != nil {
		t.Fatal(err)
	}
	s.mux.Handle("POST /orders", door.Handle(create, func(http.ResponseWriter, *http.Request, *ledgerTx) error { return end() }))
	s.post("secret-key", book).want(t, 500, "internal")
	end = func() error { panic("card 4111") }
	s.post("secret-key", book).want(t, 500, "internal")
	for _, want := range []string{"operation=create-order.v1", "id=", "*fmt.wrapError: *errors.errorString", "panic with a value of type string", "flow_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q: %s", want, log.String())
		}
	}
	for _, never := range []string{"4111", "secret-key", "BOOK"} {
		if strings.Contains(log.String(), never) {
			t.Errorf("the log holds %q: %s", never, log.String())
		}
	}
}

func TestCallTellsTheWorkWhoAsks(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	var got *httponce.Call
	s.mux.Handle("POST /orders", httponce.JSON(s.door, create, func(ctx context.Context, _ *ledgerTx, _ order) (*httponce.Answer, error) {
		got = httponce.CallFrom(ctx)
		return httponce.OK(nil), nil
	}))
	answer := s.post(`"k 1"`, book).want(t, 200, "")
	want := onceward.Scope{Tenant: "acme", Principal: "alice"}
	if got.Key != "k 1" || got.Scope != want || got.ID().Public() != answer.header.Get(httponce.HeaderID) {
		t.Errorf("%q of %v is %s, answered as %s", got.Key, got.Scope, got.ID().Public(), answer.header.Get(httponce.HeaderID))
	}
	defer func() {
		if recover() == nil {
			t.Error("a context of no call")
		}
	}()
	httponce.CallFrom(t.Context())
}

func TestMiddlewareGivesLegacyHandlersTheTransaction(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.mux.Handle("/orders", s.door.Middleware(create)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := httponce.TxFrom[*http.Client](r); ok {
			t.Error("a transaction of another type")
		}
		tx, ok := httponce.TxFrom[*ledgerTx](r)
		if !ok {
			t.Error("no transaction")
		}
		tx.insert("row")
		httponce.CallFrom(r.Context())
		if r.FormValue("fail") != "" {
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		fmt.Fprint(w, "ordered")
	})))
	post := func(key, query string) reply {
		r := s.request(key, book)
		r.URL.RawQuery = query
		return s.do(r)
	}
	post("k", "").want(t, 200, "")
	if again := post("k", "").want(t, 200, ""); !again.replayed() || again.body != "ordered" {
		t.Errorf("%v %s", again.header, again.body)
	}
	s.wantRows(1)
	post("f", "fail=1").want(t, http.StatusTeapot, "")
	s.wantRows(1)
}

func TestAnotherKindOfRecordIsNotServed(t *testing.T) {
	t.Parallel()
	for kind, c := range map[string]struct {
		data   string
		status int
		code   string
	}{
		"json": {"{}", 500, "internal"},
		"http": {"\x01\x00", 500, "internal"},
		"newer": {
			"\x02\x00", 503, "unavailable",
		},
	} {
		s := newService(t, setup{})
		s.orders(create)
		meaning := &fingerprint.Request{Method: "POST", Operation: create.Name, ContentType: "application/json", Body: []byte(book)}
		command := create.For(onceward.Scope{Tenant: "acme", Principal: "alice"}, "k", meaning)
		outcome := onceward.Outcome{Kind: strings.Replace(kind, "newer", "http", 1), Data: []byte(c.data)}
		if _, err := s.engine.Do(t.Context(), command, func(context.Context, *ledgerTx) (onceward.Outcome, error) { return outcome, nil }); err != nil {
			t.Fatal(err)
		}
		if answer := s.post("k", book); answer.status != c.status || answer.code() != c.code || answer.replayed() {
			t.Errorf("%s: %d %s", kind, answer.status, answer.body)
		}
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	for name, o := range map[string]httponce.Options{
		"no scope":         {},
		"long keys":        {Scope: callerOf, KeyBytesMax: 513},
		"negative bound":   {Scope: callerOf, BodyBytesMax: -1},
		"cookies":          {Scope: callerOf, Headers: []string{"set-cookie"}},
		"CORS":             {Scope: callerOf, Headers: []string{"access-control-allow-origin"}},
		"status of no use": {Scope: callerOf, Statuses: httponce.Statuses{Reused: 200}},
		"pointer":          {Scope: callerOf, Rules: []fingerprint.Rule{{Ignore: []string{"sku"}}}},
	} {
		if _, err := httponce.New(s.engine, o); err == nil || !strings.HasPrefix(err.Error(), "httponce: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := httponce.New[*ledgerTx](nil, httponce.Options{Scope: callerOf}); err == nil {
		t.Error("no engine")
	}
	defer func() {
		if recover() == nil {
			t.Error("an operation without a name")
		}
	}()
	s.door.Middleware(&onceward.Operation{})(http.NotFoundHandler())
}
