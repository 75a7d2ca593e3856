package httponce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// framework serves POST /orders as a framework's adapter does: what the handler's error is answered with is up to it.
func (s *service) framework(op *onceward.Operation, h func(w http.ResponseWriter, r *http.Request, tx *ledgerTx) error) {
	serve := s.door.Adapt(op, h)
	s.mux.HandleFunc("/orders", func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r); err != nil {
			http.Error(w, "framework: "+err.Error(), http.StatusTeapot)
		}
	})
}

var errBroken = errors.New("broken")

// A handler's own error is the framework's to answer: nothing was written, recorded or reported.
func TestAdaptLeavesTheHandlersErrorToTheFramework(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	fail := true
	s.framework(&onceward.Operation{Name: "create.v1"}, func(w http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
		tx.insert("row")
		w.Header().Set("Location", "/orders/1")
		fmt.Fprint(w, "written")
		if fail {
			return fmt.Errorf("wrapped: %w", errBroken)
		}
		return nil
	})
	got := s.post("k", book)
	if got.status != http.StatusTeapot || got.body != "framework: wrapped: broken\n" {
		t.Fatalf("answered %d %q", got.status, got.body)
	}
	for _, name := range []string{"Location", httponce.HeaderID, httponce.HeaderReplayed} {
		if value := got.header.Get(name); value != "" {
			t.Errorf("%s: %q", name, value)
		}
	}
	s.wantRows(0)
	fail = false
	if got := s.post("k", book); got.status != http.StatusOK || got.body != "written" || got.replayed() {
		t.Fatalf("answered %d %q", got.status, got.body)
	}
	if got := s.post("k", book); got.body != "written" || !got.replayed() {
		t.Fatalf("answered %d %q", got.status, got.body)
	}
	s.wantRows(1)
	if len(s.reports) > 0 {
		t.Errorf("reported: %v", <-s.reports)
	}
}

// What is not the handler's own error is answered by the door, as in Handle.
func TestAdaptAnswersWhatIsNotTheHandlersOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"a refusal":                       {httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "sold_out"}), 409, "sold_out"},
		"a wrapped refusal":               {fmt.Errorf("x: %w", httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "sold_out"})), 409, "sold_out"},
		"an error of the service's table": {errKnown, 409, "known"},
		"a transaction that was ended":    {fmt.Errorf("x: %w", onceward.ErrTxEnded), 500, "internal"},
		"an error of the engine":          {&onceward.Error{Operation: "inner.v1", Err: onceward.ErrInFlight}, 409, "in_flight"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, setup{options: httponce.Options{Failure: func(err error) *httponce.Answer {
				if errors.Is(err, errKnown) {
					return httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "known"})
				}
				return nil
			}}})
			s.framework(&onceward.Operation{Name: "create.v1"}, func(_ http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
				tx.insert("row")
				return c.err
			})
			s.post("k", book).want(t, c.status, c.code)
			s.wantRows(0)
		})
	}
}

var errKnown = errors.New("known")

// An error of a context may be that of a call to elsewhere, which the framework has an answer for.
func TestAdaptLeavesErrorsOfContextsToTheFramework(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.framework(&onceward.Operation{Name: "create.v1"}, func(http.ResponseWriter, *http.Request, *ledgerTx) error {
		return fmt.Errorf("bank: %w", context.DeadlineExceeded)
	})
	if got := s.post("k", book); got.status != http.StatusTeapot {
		t.Fatalf("answered %d %q", got.status, got.body)
	}
}

func TestAdaptAnswersAnAnswerBeyondTheHoldLimit(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{options: httponce.Options{AnswerBytesMax: 10}})
	s.framework(&onceward.Operation{Name: "create.v1"}, func(w http.ResponseWriter, _ *http.Request, _ *ledgerTx) error {
		_, err := io.WriteString(w, "more than ten bytes")
		return fmt.Errorf("render: %w", err)
	})
	s.post("k", book).want(t, http.StatusInternalServerError, "answer_too_large")
}

// The duplicates that waited for a handler that failed are answered by the framework as well.
func TestAdaptGivesDuplicatesTheHandlersError(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	running, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.framework(&onceward.Operation{Name: "create.v1", Wait: time.Minute}, func(http.ResponseWriter, *http.Request, *ledgerTx) error {
		once.Do(func() { close(running) })
		<-release
		return errBroken
	})
	answers := make(chan reply, 5)
	for range cap(answers) {
		go func() { answers <- s.post("k", book) }()
	}
	<-running
	close(release)
	for range cap(answers) {
		if got := <-answers; got.status != http.StatusTeapot || got.body != "framework: broken\n" {
			t.Errorf("answered %d %q", got.status, got.body)
		}
	}
}
