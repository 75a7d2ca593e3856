package httponce_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// found is what a lookup answers.
type found struct {
	Operation, ID, State, Location string
	Status                         int
	CreatedAt, ExpiresAt           time.Time
}

// lookup asks as caller for what became of the operation under key.
func (s *service) lookup(operation, caller, key string) (reply, found) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.URL+"/idempotency/"+operation, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if caller != "" {
		r.Header.Set("Caller", caller)
	}
	if key != "" {
		r.Header.Set(httponce.HeaderKey, key)
	}
	answer := s.do(r)
	var f found
	if answer.status == http.StatusOK {
		if err := json.Unmarshal([]byte(answer.body), &f); err != nil {
			s.t.Error(err)
		}
	}
	return answer, f
}

func newLookup(t *testing.T, s setup) *service {
	v := newService(t, s)
	v.mux.Handle(httponce.LookupPath, httponce.Lookup(v.door))
	return v
}

func TestR3_11_OutcomeIsLookedUp(t *testing.T) {
	t.Parallel()
	s := newLookup(t, setup{engine: noMemory})
	s.orders(&onceward.Operation{Name: "create-order.v1", Retention: time.Hour, RefuseExpired: time.Hour})
	absent, _ := s.lookup("create-order.v1", "acme/alice", "k")
	absent.want(t, 404, "result_absent")
	first := s.post("k", book).want(t, 201, "")

	answer, f := s.lookup("create-order.v1", "acme/alice", "k")
	if f.State != "completed" || f.Status != 201 || f.Location != first.header.Get("Location") || f.Operation != "create-order.v1" ||
		f.ID != first.header.Get(httponce.HeaderID) || f.CreatedAt.IsZero() || f.ExpiresAt.Sub(f.CreatedAt) != time.Hour {
		t.Errorf("%d %s", answer.status, answer.body)
	}
	if strings.Contains(answer.body, "BOOK") || answer.header.Get("Cache-Control") != "no-store" || answer.header.Get(httponce.HeaderReplayed) != "" {
		t.Errorf("%v %s", answer.header, answer.body)
	}
	s.wantClaims(1) // nothing is run or claimed by looking

	for _, foreign := range []string{"acme/bob", "globex/alice"} {
		answer, _ := s.lookup("create-order.v1", foreign, "k")
		answer.want(t, 404, "result_absent")
	}
	s.clock.Add(int64(90 * time.Minute))
	if _, f := s.lookup("create-order.v1", "acme/alice", "k"); f.State != "expired" || f.Status != 0 {
		t.Errorf("past its retention: %+v", f)
	}
}

func TestLookupOfARunningAttempt(t *testing.T) {
	t.Parallel()
	s := newLookup(t, setup{})
	running, end := make(chan struct{}), make(chan struct{})
	s.handle(create, func(w http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
		close(running)
		<-end
		w.WriteHeader(http.StatusCreated)
		return nil
	})
	first := make(chan reply, 1)
	go func() { first <- s.post("k", book) }()
	<-running
	if answer, f := s.lookup(create.Name, "acme/alice", "k"); f.State != "running" || !f.CreatedAt.IsZero() {
		t.Errorf("%d %s", answer.status, answer.body)
	}
	close(end)
	(<-first).want(t, 201, "")
}

// What was not kept whole is found as well.
func TestLookupOfATombstone(t *testing.T) {
	t.Parallel()
	s := newLookup(t, setup{options: httponce.Options{StoredBytesMax: 64}})
	s.handle(create, func(w http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
		w.Header().Set("Location", "/orders/1")
		w.WriteHeader(http.StatusCreated)
		_, err := w.Write([]byte(strings.Repeat("x", 100)))
		return err
	})
	s.post("k", book).want(t, 201, "")
	if _, f := s.lookup(create.Name, "acme/alice", "k"); f.State != "completed" || f.Status != 201 || f.Location != "/orders/1" {
		t.Errorf("%+v", f)
	}
}

func TestLookupRefuses(t *testing.T) {
	t.Parallel()
	allowed := true
	s := newLookup(t, setup{options: httponce.Options{Optional: true, Authorize: func(_ *http.Request, c onceward.Command) error {
		if !allowed || c.Operation != create {
			return errors.New("not he")
		}
		return nil
	}}})
	s.orders(create)
	s.post("k", book).want(t, 201, "")
	for _, c := range []struct {
		operation, caller, key string
		status                 int
		code                   string
	}{
		{create.Name, "", "k", 401, "unauthenticated"},
		{create.Name, "acme/alice", "", 400, "key_missing"},
		{create.Name, "acme/alice", "a b", 400, "key_malformed"},
		{"another.v1", "acme/alice", "k", 404, "operation_unknown"},
	} {
		answer, _ := s.lookup(c.operation, c.caller, c.key)
		answer.want(t, c.status, c.code)
	}
	allowed = false
	for _, key := range []string{"k", "absent"} { // who may not ask learns nothing
		answer, _ := s.lookup(create.Name, "acme/alice", key)
		answer.want(t, 403, "forbidden")
	}
	r, err := http.NewRequest(http.MethodPost, s.URL+"/idempotency/"+create.Name, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.do(r).want(t, 405, "method_not_allowed")
}
