package onceward_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
)

// lost is a Save whose answer was lost: after the commit, or with it.
func lost(committed bool) func(context.Context, func() (bool, error)) (bool, error) {
	return func(_ context.Context, save func() (bool, error)) (bool, error) {
		if committed {
			if _, err := save(); err != nil {
				return false, err
			}
		}
		return false, fmt.Errorf("the connection broke: %w", onceward.ErrCommitUnknown)
	}
}

// losing is a probe whose first commit is lost. If nothing was committed, its attempt is rolled back as the database
// does when a connection breaks.
func losing(committed bool) *probe {
	p := newProbe()
	p.onSave = func(ctx context.Context, save func() (bool, error)) (bool, error) {
		if p.saves.Load() > 1 {
			return save()
		}
		return lost(committed)(ctx, save)
	}
	return p
}

// brokenTx makes losing(false) give its claim up: the attempt of a broken connection.
type brokenTx struct{ *probe }

func (s brokenTx) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[*tx], *onceward.Record, error) {
	attempt, record, err := s.probe.Claim(ctx, want, wait)
	if attempt != nil {
		attempt = breaking{attempt}
	}
	return attempt, record, err
}

type breaking struct{ onceward.Attempt[*tx] }

func (a breaking) Save(ctx context.Context, o onceward.Outcome) (bool, error) {
	untouched, err := a.Attempt.Save(ctx, o)
	if err != nil {
		_ = a.Attempt.(*probed).Attempt.Rollback(ctx)
	}
	return untouched, err
}

func TestF04LostAnswerOfACommitIsSuccess(t *testing.T) {
	recorded := &recorder{}
	store := losing(true)
	e, c := newEngine(t, store, onceward.Options{Observer: recorded}), hasty.For(alice, "k", nil)
	do(t.Context(), e, c, says("accepted")).wants(t, "accepted", false)
	if save := recorded.last(onceward.StepSave); save.Note != onceward.NoteResolved || save.Err != nil {
		t.Errorf("the save ended with %q, %v", save.Note, save.Err)
	}
	do(t.Context(), e, c, never(t)).wants(t, "accepted", true)
	wantCount(t, "claims", store.claims.Load(), 2)
}

func TestF04LostCommitIsNone(t *testing.T) {
	store := losing(false)
	e, c := newEngine(t, brokenTx{store}, onceward.Options{}), hasty.For(alice, "k", nil)
	do(t.Context(), e, c, says("lost")).fails(t, onceward.ErrNotCommitted)
	do(t.Context(), e, c, says("the retry's")).wants(t, "the retry's", false)
	wantCount(t, "saves", store.saves.Load(), 2)
}

// The store is away for a while after the commit: the resolution asks again until it is back.
func TestResolutionOutlastsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, began := losing(true), time.Now()
		store.onClaim = func(n int64) error {
			if n > 1 && time.Since(began) < 8*time.Second {
				return onceward.ErrUnavailable
			}
			return nil
		}
		briefly := *hasty
		briefly.Retention = time.Second // over when the store is back; it is the proof all the same
		c := briefly.For(alice, "k", nil)
		ctx, cancel := context.WithCancel(t.Context())
		do(ctx, newEngine(t, store, onceward.Options{}), c, func(ctx context.Context, tx *tx) (onceward.Outcome, error) {
			cancel() // F03: a caller that hung up does not end the resolution
			return says("accepted")(ctx, tx)
		}).wants(t, "accepted", false)
		if n := store.claims.Load(); n > 30 {
			t.Errorf("the store that was away was asked %d times in 8 s", n)
		}
	})
}

func TestResolutionIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, began := losing(true), time.Now()
		store.onClaim = func(n int64) error {
			if n > 1 && time.Since(began) < time.Minute {
				return onceward.ErrUnavailable
			}
			return nil
		}
		e, c := newEngine(t, store, onceward.Options{ResolveTimeout: 4 * time.Second}), hasty.For(alice, "k", nil)
		r := do(t.Context(), e, c, says("accepted"))
		r.fails(t, onceward.ErrCommitUnresolved)
		wantError(t, r.err, onceward.ErrCommitUnknown)
		wantError(t, r.err, onceward.ErrUnavailable)
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("the resolution took %v, want 4s", took)
		}
		if flights := e.Flights(); flights != 0 {
			t.Errorf("%d flights remain", flights)
		}
		time.Sleep(time.Minute)
		do(t.Context(), e, c, never(t)).wants(t, "accepted", true)
	})
}

// An attempt that meets another's record is answered by it, if the meaning is the same.
func TestTakenIsAnsweredByTheOthersRecord(t *testing.T) {
	for _, meaning := range []string{"two books", "three books"} {
		store := newProbe()
		other := newEngine(t, store, onceward.Options{})
		late := &late{probe: newProbe(), winner: store}
		e := newEngine(t, late, onceward.Options{})
		r := do(t.Context(), e, hasty.For(alice, "k", meaning), func(ctx context.Context, tx *tx) (onceward.Outcome, error) {
			do(ctx, other, hasty.For(alice, "k", "two books"), says("the other's")).wants(t, "the other's", false)
			return says("mine")(ctx, tx)
		})
		if meaning == "two books" {
			r.wants(t, "the other's", true)
		} else {
			r.fails(t, onceward.ErrKeyReused)
		}
	}
}

// late claims in a store of its own, which the winner does not know, and finds the winner's record when it saves.
type late struct {
	*probe
	winner *probe
}

func (s *late) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[*tx], *onceward.Record, error) {
	if s.probe.claims.Load() > 0 {
		return s.winner.Claim(ctx, want, wait)
	}
	s.probe.onSave = func(context.Context, func() (bool, error)) (bool, error) { return false, onceward.ErrTaken }
	return s.probe.Claim(ctx, want, wait)
}

// A transaction that the work ended by raw SQL may have committed: the caller is not told to send it again.
func TestEndedTransactionInvitesNoRetry(t *testing.T) {
	store := newProbe()
	store.onSave = func(context.Context, func() (bool, error)) (bool, error) { return false, onceward.ErrTxEnded }
	r := do(t.Context(), newEngine(t, store, onceward.Options{}), hasty.For(alice, "k", nil), says("ok"))
	r.fails(t, onceward.ErrTxEnded)
	if errors.Is(r.err, onceward.ErrNotCommitted) {
		t.Errorf("the error is %v", r.err)
	}
	wantCount(t, "claims", store.claims.Load(), 1)
}
