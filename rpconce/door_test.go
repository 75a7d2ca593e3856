package rpconce_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/memstore"
	"github.com/onceward/onceward/rpconce"
)

type tx struct{}

// service is a door on a store that can be made to fail, whose clock can go ahead.
type service struct {
	t       *testing.T
	door    *rpconce.Door[tx]
	store   *failing
	ahead   atomic.Int64
	reports []error
}

type failing struct {
	onceward.Store[tx]
	claim, save error
}

func (s *failing) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[tx], *onceward.Record, error) {
	if s.claim != nil {
		return nil, nil, s.claim
	}
	attempt, record, err := s.Store.Claim(ctx, want, wait)
	if attempt != nil && s.save != nil {
		attempt = failingSave{attempt, s.save}
	}
	return attempt, record, err
}

type failingSave struct {
	onceward.Attempt[tx]
	err error
}

func (a failingSave) Save(ctx context.Context, _ onceward.Outcome) (bool, error) {
	return false, errors.Join(a.err, a.Rollback(ctx))
}

var alice = onceward.Scope{Tenant: "acme", Principal: "alice"}

func newService(t *testing.T, o rpconce.Options) *service {
	t.Helper()
	memory := memstore.New(func() tx { return tx{} })
	s := &service{t: t, store: &failing{Store: memory}}
	memory.Now = func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
	engine, err := onceward.New(onceward.Store[tx](s.store), onceward.Options{
		MemoryBytesMax: -1, OutcomeBytesMax: 100, ResolveTimeout: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.Scope == nil {
		o.Scope = func(context.Context) (onceward.Scope, error) { return alice, nil }
	}
	o.Report = func(_ context.Context, _ *rpconce.Call, err error) { s.reports = append(s.reports, err) }
	if s.door, err = rpconce.New(engine, o); err != nil {
		t.Fatal(err)
	}
	return s
}

var operation = &onceward.Operation{Name: "order.v1", Retention: time.Hour, RefuseExpired: time.Hour}

func accept(context.Context, tx) (onceward.Outcome, error) {
	return onceward.Outcome{Kind: rpconce.KindMessage, Data: []byte("answer")}, nil
}

// do makes a call under the key k.
func (s *service) do(ctx context.Context, message string, work onceward.Work[tx]) (onceward.Result, error) {
	return s.door.Do(ctx, operation, &rpconce.Call{Procedure: "/p"}, []string{"k"}, append(rpconce.Prefix("/p"), message...), work)
}

// wantFault fails unless err is an *Error.
func wantFault(t *testing.T, err error, code rpconce.Code, reason string, retry bool) {
	t.Helper()
	fault := (*rpconce.Error)(nil)
	if !errors.As(err, &fault) || fault.Code != code || fault.Reason != reason || (fault.RetryAfter > 0) != retry || fault.Error() == "" {
		t.Errorf("the error is %#v (%v), want %d %s, retry: %v", fault, err, code, reason, retry)
	}
}

func TestEnginesErrorsHaveTheirCodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(s *service)
		work    onceward.Work[tx]
		code    rpconce.Code
		reason  string
		retry   bool
		reports int
	}{
		"the store is down": {
			prepare: func(s *service) { s.store.claim = fmt.Errorf("dial 10.0.0.7: %w", onceward.ErrUnavailable) },
			code:    rpconce.Unavailable, reason: "UNAVAILABLE", retry: true,
		},
		"another process holds the claim": {
			prepare: func(s *service) { s.store.claim = onceward.ErrInFlight },
			code:    rpconce.Unavailable, reason: "IN_FLIGHT", retry: true,
		},
		"the commit failed": {
			prepare: func(s *service) { s.store.save = errors.New("disk full") },
			code:    rpconce.Unavailable, reason: "NOT_COMMITTED", retry: true,
		},
		"the commit's end is not known": {
			prepare: func(s *service) { s.store.save = onceward.ErrCommitUnknown },
			work: func(context.Context, tx) (onceward.Outcome, error) {
				return onceward.Outcome{Kind: rpconce.KindMessage}, nil
			},
			code: rpconce.Unavailable, reason: "NOT_COMMITTED", retry: true,
		},
		"a collision": {
			prepare: func(s *service) { s.store.claim = onceward.ErrCollision },
			code:    rpconce.Internal, reason: "INTERNAL", reports: 1,
		},
		"expired": {
			prepare: func(s *service) {
				if _, err := s.do(s.t.Context(), "m", accept); err != nil {
					s.t.Fatal(err)
				}
				s.ahead.Store(int64(90 * time.Minute))
			},
			code: rpconce.FailedPrecondition, reason: "EXPIRED",
		},
		"another meaning": {
			prepare: func(s *service) {
				if _, err := s.do(s.t.Context(), "another", accept); err != nil {
					s.t.Fatal(err)
				}
			},
			code: rpconce.FailedPrecondition, reason: "KEY_REUSED",
		},
		"an answer that is too large": {
			work: func(context.Context, tx) (onceward.Outcome, error) {
				return onceward.Outcome{Kind: rpconce.KindMessage, Data: make([]byte, 101)}, nil
			},
			code: rpconce.Internal, reason: "ANSWER_TOO_LARGE", reports: 1,
		},
		"a transaction that the work ended": {
			work: func(context.Context, tx) (onceward.Outcome, error) {
				return onceward.Outcome{}, fmt.Errorf("x: %w", onceward.ErrTxEnded)
			},
			code: rpconce.Internal, reason: "INTERNAL", reports: 1,
		},
		"a record of another door": {
			prepare: func(s *service) {
				other := func(context.Context, tx) (onceward.Outcome, error) { return onceward.Outcome{Kind: "http"}, nil }
				_, err := s.do(s.t.Context(), "m", other)
				wantFault(s.t, err, rpconce.Internal, "INTERNAL", false)
				s.reports = nil
			},
			code: rpconce.Internal, reason: "INTERNAL", reports: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, rpconce.Options{})
			if c.prepare != nil {
				c.prepare(s)
			}
			if c.work == nil {
				c.work = accept
			}
			_, err := s.do(t.Context(), "m", c.work)
			wantFault(t, err, c.code, c.reason, c.retry)
			if strings.Contains(err.Error(), "10.0.0.7") || len(s.reports) != c.reports {
				t.Errorf("%v was told, %v reported", err, s.reports)
			}
		})
	}
}

func TestUnresolvedCommitIsSaidToBeUnknown(t *testing.T) {
	t.Parallel()
	s := newService(t, rpconce.Options{})
	s.store.save = onceward.ErrCommitUnknown
	_, err := s.do(t.Context(), "m", func(context.Context, tx) (onceward.Outcome, error) {
		s.store.claim = onceward.ErrUnavailable // from now on
		return onceward.Outcome{Kind: rpconce.KindMessage}, nil
	})
	wantFault(t, err, rpconce.Unavailable, "UNRESOLVED", true)
}

func TestContextThatEndsBeforeTheClaimIsTheCallers(t *testing.T) {
	t.Parallel()
	s := newService(t, rpconce.Options{})
	s.store.claim = context.Canceled
	_, err := s.do(t.Context(), "m", accept)
	wantFault(t, err, rpconce.Canceled, "CANCELLED", false)
	s.store.claim = context.DeadlineExceeded
	_, err = s.do(t.Context(), "m", accept)
	wantFault(t, err, rpconce.DeadlineExceeded, "TIMED_OUT", false)
}

func TestWorksErrorIsItsOwn(t *testing.T) {
	t.Parallel()
	s := newService(t, rpconce.Options{})
	mine := errors.New("sold out")
	if _, err := s.do(t.Context(), "m", func(context.Context, tx) (onceward.Outcome, error) { return onceward.Outcome{}, mine }); err != mine {
		t.Errorf("the error is %v", err)
	}
}

func TestScopeAndAuthorize(t *testing.T) {
	t.Parallel()
	unknown, suspended := errors.New("unknown"), errors.New("suspended")
	s := newService(t, rpconce.Options{Scope: func(context.Context) (onceward.Scope, error) { return onceward.Scope{}, unknown }})
	_, err := s.do(t.Context(), "m", accept)
	wantFault(t, err, rpconce.Unauthenticated, "UNAUTHENTICATED", false)
	if !errors.Is(err, unknown) {
		t.Errorf("the cause is lost: %v", err)
	}
	s = newService(t, rpconce.Options{Scope: func(context.Context) (onceward.Scope, error) { return onceward.Scope{}, nil }})
	_, err = s.do(t.Context(), "m", accept)
	wantFault(t, err, rpconce.Unauthenticated, "UNAUTHENTICATED", false)
	s = newService(t, rpconce.Options{Authorize: func(_ context.Context, c *rpconce.Call) error {
		if c.Procedure != "/p" || c.Key != "k" || c.Scope != alice || c.Operation != operation || !bytes.Equal(c.Meaning.([]byte), []byte("/p\x00m")) {
			t.Errorf("asked for %+v", c)
		}
		return suspended
	}})
	_, err = s.do(t.Context(), "m", accept)
	wantFault(t, err, rpconce.PermissionDenied, "FORBIDDEN", false)
}

func TestStrictTakesOnlyTheQuotedForm(t *testing.T) {
	t.Parallel()
	s := newService(t, rpconce.Options{Strict: true, KeyBytesMax: 3})
	for key, reason := range map[string]string{`"abc"`: "", "abc": "KEY_MALFORMED", `"abcd"`: "KEY_TOO_LONG"} {
		_, err := s.door.Do(t.Context(), operation, &rpconce.Call{Procedure: "/p"}, []string{key}, nil, accept)
		if reason == "" && err != nil {
			t.Error(err)
		} else if reason != "" {
			wantFault(t, err, rpconce.InvalidArgument, reason, false)
		}
	}
}

func TestCallTellsTheWorkWhoAsks(t *testing.T) {
	t.Parallel()
	s := newService(t, rpconce.Options{})
	result, err := s.do(t.Context(), "m", func(ctx context.Context, _ tx) (onceward.Outcome, error) {
		call := rpconce.CallFrom(ctx)
		return onceward.Outcome{Kind: rpconce.KindMessage, Data: []byte(call.Key + call.Scope.Principal + call.ID().Public())}, nil
	})
	if err != nil || string(result.Outcome.Data) != "kalice"+result.ID {
		t.Errorf("%+v, %v", result, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a context without a call has one")
		}
	}()
	rpconce.CallFrom(t.Context())
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	engine, err := onceward.New(memstore.New(func() tx { return tx{} }), onceward.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scope := func(context.Context) (onceward.Scope, error) { return alice, nil }
	for name, o := range map[string]rpconce.Options{
		"no scope":          {},
		"a key too long":    {Scope: scope, KeyBytesMax: onceward.KeyBytesMax + 1},
		"a negative key":    {Scope: scope, KeyBytesMax: -1},
		"a negative delay":  {Scope: scope, RetryAfter: -1},
		"an engine missing": {Scope: scope},
	} {
		e := engine
		if name == "an engine missing" {
			e = nil
		}
		if _, err := rpconce.New(e, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestDefaultReportSaysNothingThatTheCallerSent(t *testing.T) { // not parallel: it replaces slog's default
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	engine, err := onceward.New(memstore.New(func() tx { return tx{} }), onceward.Options{})
	if err != nil {
		t.Fatal(err)
	}
	door, err := rpconce.New(engine, rpconce.Options{Scope: func(context.Context) (onceward.Scope, error) { return alice, nil }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = door.Do(t.Context(), operation, &rpconce.Call{Procedure: "/p"}, []string{"secret"}, []byte("secret"),
		func(context.Context, tx) (onceward.Outcome, error) {
			return onceward.Outcome{}, fmt.Errorf("secret: %w", onceward.ErrTxEnded)
		})
	wantFault(t, err, rpconce.Internal, "INTERNAL", false)
	if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "order.v1") || !strings.Contains(text, "not the work's to end") {
		t.Errorf("logged %s", text)
	}
}
