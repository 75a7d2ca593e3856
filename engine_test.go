package onceward_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
)

func TestNewRefusesWhatCannotWork(t *testing.T) {
	if _, err := onceward.New[*tx](nil, onceward.Options{}); err == nil {
		t.Error("an engine without a store was made")
	}
	for _, o := range []onceward.Options{
		{WorkTimeout: -1},
		{SaveTimeout: -1},
		{ResolveTimeout: -1},
		{FollowersMax: -1},
		{OutcomeBytesMax: -1},
	} {
		if _, err := onceward.New(newProbe(), o); err == nil {
			t.Errorf("an engine with %+v was made", o)
		}
	}
	newEngine(t, newProbe(), onceward.Options{MemoryBytesMax: -1})
}

func TestDoRunsOnceAndReplays(t *testing.T) {
	store := newProbe()
	c := hasty.For(alice, "k", "two books")
	for _, e := range []*onceward.Engine[*tx]{newEngine(t, store, onceward.Options{}), newEngine(t, store, onceward.Options{MemoryBytesMax: -1})} {
		first := do(t.Context(), e, c, says("accepted"))
		if first.err != nil || first.result.ID == "" {
			t.Fatalf("%+v", first)
		}
		for range 3 {
			do(t.Context(), e, c, never(t)).wants(t, "accepted", true)
			do(t.Context(), e, hasty.For(alice, "k", "three books"), never(t)).fails(t, onceward.ErrKeyReused)
		}
	}
	wantCount(t, "saves", store.saves.Load(), 1)
}

// What the engine says about a command is safe to show.
func TestErrorNamesTheCommandByItsID(t *testing.T) {
	e := newEngine(t, newProbe(), onceward.Options{})
	scope := onceward.Scope{Tenant: "SECRET-TENANT", Principal: "SECRET-PRINCIPAL"}
	id := do(t.Context(), e, hasty.For(scope, "SECRET-KEY", "SECRET-MEANING"), says("SECRET-ANSWER")).result.ID
	err := do(t.Context(), e, hasty.For(scope, "SECRET-KEY", "SECRET-OTHER"), never(t)).err
	wrapped := (*onceward.Error)(nil)
	if !errors.As(err, &wrapped) || wrapped.Operation != hasty.Name || wrapped.ID != id {
		t.Errorf("the error is %#v, want one of %s, %s", err, hasty.Name, id)
	}
	for _, err := range []error{
		err,
		do(t.Context(), e, hasty.For(scope, "SECRET-KEY\x00", nil), never(t)).err,
		do(t.Context(), e, hasty.For(onceward.Scope{Tenant: "SECRET\x00", Principal: "SECRET"}, "SECRET-KEY", nil), never(t)).err,
	} {
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("the error tells what it must not: %v", err)
		}
	}
}

func TestOnceHasNoOutcome(t *testing.T) {
	e, c, runs := newEngine(t, newProbe(), onceward.Options{}), hasty.For(alice, "event-1", nil), 0
	consume := func(context.Context, *tx) error {
		if runs++; runs == 1 {
			return errWork
		}
		return nil
	}
	wantError(t, e.Once(t.Context(), c, consume), errWork)
	for range 3 {
		wantError(t, e.Once(t.Context(), c, consume), nil)
	}
	wantCount(t, "runs", int64(runs), 2)
}

type order struct {
	ID    int    `json:"id"`
	Note  string `json:"note"`
	inner bool
}

// The first caller is answered what was stored, as all others are: a field that JSON leaves out is left out for him too.
func TestRunAnswersWhatWasStored(t *testing.T) {
	store := newProbe()
	c := hasty.For(alice, "k", order{ID: 1})
	for range 3 {
		got, err := onceward.Run(t.Context(), newEngine(t, store, onceward.Options{}), c, func(context.Context, *tx) (order, error) {
			return order{ID: 7, Note: "<fragile> & new", inner: true}, nil
		})
		if want := (order{ID: 7, Note: "<fragile> & new"}); err != nil || got != want {
			t.Errorf("Run: %+v, %v, want %+v", got, err, want)
		}
	}
	wantCount(t, "saves", store.saves.Load(), 1)
}

func TestRunRollsBackWhatCannotBeStored(t *testing.T) {
	store := newProbe()
	e, c := newEngine(t, store, onceward.Options{}), hasty.For(alice, "k", nil)
	if _, err := onceward.Run(t.Context(), e, c, func(context.Context, *tx) (chan int, error) { return nil, nil }); err == nil {
		t.Error("a value that is no JSON was stored")
	}
	value, err := onceward.Run(t.Context(), e, c, func(context.Context, *tx) (int, error) { return 7, errWork })
	wantError(t, err, errWork)
	wantCount(t, "the value with an error", int64(value), 0)
	wantCount(t, "rollbacks", store.rollbacks.Load(), 2)
	wantCount(t, "saves", store.saves.Load(), 0)
}

func TestRunRefusesAnothersOutcome(t *testing.T) {
	e, c := newEngine(t, newProbe(), onceward.Options{}), hasty.For(alice, "k", nil)
	do(t.Context(), e, c, says("7")).wants(t, "7", false)
	if n, err := onceward.Run(t.Context(), e, c, func(context.Context, *tx) (int, error) { return 8, nil }); err == nil {
		t.Errorf("Run made %d of an outcome of another kind", n)
	}
}

func TestJoinUsesTheCallersTransaction(t *testing.T) {
	store := newProbe()
	e, c, own := newEngine(t, store, onceward.Options{}), hasty.For(alice, "k", "two books"), new(tx)
	for range 2 {
		got, err := onceward.Join(t.Context(), e, own, c, func(_ context.Context, tx *tx) (string, error) {
			if tx != own {
				t.Error("the work has another transaction than the caller's")
			}
			return "joined", nil
		})
		if err != nil || got != "joined" {
			t.Errorf("Join: %q, %v", got, err)
		}
	}
	_, err := onceward.Join(t.Context(), e, own, hasty.For(alice, "k", "three books"), func(context.Context, *tx) (string, error) {
		t.Error("the work ran")
		return "", nil
	})
	wantError(t, err, onceward.ErrKeyReused)
	if entries, _, _ := e.Remembered(); entries != 0 {
		t.Errorf("%d entries are remembered of a transaction that may still roll back", entries)
	}
}

func TestJoinRollsBackItsPart(t *testing.T) {
	store := newProbe()
	e, c := newEngine(t, store, onceward.Options{}), hasty.For(alice, "k", nil)
	join := func(work func(context.Context, *tx) (string, error)) (string, error) {
		return onceward.Join(t.Context(), e, new(tx), c, work)
	}
	_, err := join(func(context.Context, *tx) (string, error) { return "discarded", errWork })
	wantError(t, err, errWork)
	func() {
		defer func() { _ = recover() }()
		_, _ = join(func(context.Context, *tx) (string, error) { panic(errWork) })
		t.Error("the panic did not go on")
	}()
	got, err := join(func(context.Context, *tx) (string, error) { return "joined", nil })
	if err != nil || got != "joined" {
		t.Errorf("Join: %q, %v", got, err)
	}
}

func TestJoinIsRefusedInFlight(t *testing.T) {
	e, c := newEngine(t, newProbe(), onceward.Options{}), patient.For(alice, "k", nil)
	release, entered := make(chan struct{}), make(chan struct{})
	first := begin(t.Context(), e, c, func(context.Context, *tx) (onceward.Outcome, error) {
		close(entered)
		<-release
		return onceward.Outcome{}, nil
	})
	<-entered
	_, err := onceward.Join(t.Context(), e, new(tx), c, func(context.Context, *tx) (string, error) { return "", nil })
	wantError(t, err, onceward.ErrInFlight)
	close(release)
	wantError(t, (<-first).err, nil)
}

// Another's record that was met at the saving cannot be read in the caller's transaction, which may not see it: he comes
// again in a new one.
func TestJoinThatMeetsAnothersRecordIsInFlight(t *testing.T) {
	store := newProbe()
	store.onSave = func(context.Context, func() (bool, error)) (bool, error) { return false, onceward.ErrTaken }
	e := newEngine(t, store, onceward.Options{})
	_, err := onceward.Join(t.Context(), e, new(tx), hasty.For(alice, "k", nil), func(context.Context, *tx) (string, error) { return "", nil })
	wantError(t, err, onceward.ErrInFlight)
	wantError(t, err, onceward.ErrTaken)
}

func TestFindRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, c := newEngine(t, newProbe(), onceward.Options{}), hasty.For(alice, "k", "two books")
		found := func(want onceward.State) {
			t.Helper()
			got := onceward.State("")
			if r, err := e.Find(t.Context(), c); err != nil {
				t.Errorf("Find: %v", err)
			} else if r != nil {
				got = r.State
			}
			if got != want {
				t.Errorf("the state is %q, want %q", got, want)
			}
		}
		found("")
		release := make(chan struct{})
		first := begin(t.Context(), e, c, func(context.Context, *tx) (onceward.Outcome, error) {
			<-release
			return onceward.Outcome{}, nil
		})
		synctest.Wait()
		found(onceward.StateRunning)
		close(release)
		<-first
		found(onceward.StateCompleted)
		time.Sleep(time.Hour)
		found(onceward.StateExpired)
	})
}

// A work's own error is the caller's: it comes back as it is.
func TestWorkErrorIsPassedThrough(t *testing.T) {
	store := newProbe()
	e := newEngine(t, store, onceward.Options{})
	for range 2 {
		if r := do(t.Context(), e, hasty.For(alice, "k", nil), func(context.Context, *tx) (onceward.Outcome, error) {
			return onceward.Outcome{Data: []byte("discarded")}, errWork
		}); r.err != errWork {
			t.Errorf("the error is %#v, want the work's own", r.err)
		}
	}
	wantCount(t, "rollbacks", store.rollbacks.Load(), 2)
}

func TestLostRollbackIsTold(t *testing.T) {
	store := &rollbackFails{newProbe()}
	e := newEngine(t, store, onceward.Options{})
	_, err := e.Do(t.Context(), hasty.For(alice, "k", nil), func(context.Context, *tx) (onceward.Outcome, error) {
		return onceward.Outcome{}, errWork
	})
	wantError(t, err, errWork)
	wantError(t, err, onceward.ErrUnavailable)
}

type rollbackFails struct{ *probe }

func (s *rollbackFails) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[*tx], *onceward.Record, error) {
	attempt, record, err := s.probe.Claim(ctx, want, wait)
	return rollbackFailing{attempt}, record, err
}

type rollbackFailing struct{ onceward.Attempt[*tx] }

func (a rollbackFailing) Rollback(context.Context) error { return onceward.ErrUnavailable }

func TestPanicAndGoexitRollBack(t *testing.T) {
	for name, stop := range map[string]func(){
		"panic":  func() { panic(errWork) },
		"Goexit": runtime.Goexit,
	} {
		store := newProbe()
		e, c := newEngine(t, store, onceward.Options{}), hasty.For(alice, "k", nil)
		stopped := make(chan any)
		go func() {
			defer func() { stopped <- recover() }()
			_, _ = e.Do(t.Context(), c, func(context.Context, *tx) (onceward.Outcome, error) {
				stop()
				return onceward.Outcome{}, nil
			})
		}()
		if v := <-stopped; name == "panic" && v != errWork {
			t.Errorf("the panic that went on is %v", v)
		}
		wantCount(t, name+": rollbacks", store.rollbacks.Load(), 1)
		do(t.Context(), e, c, says("the retry's")).wants(t, "the retry's", false)
	}
}

func TestOutcomeIsBounded(t *testing.T) {
	store := newProbe()
	e, c := newEngine(t, store, onceward.Options{OutcomeBytesMax: 3}), hasty.For(alice, "k", nil)
	do(t.Context(), e, c, says("1234")).fails(t, onceward.ErrOutcomeTooLarge)
	do(t.Context(), e, c, func(context.Context, *tx) (onceward.Outcome, error) {
		return onceward.Outcome{Kind: strings.Repeat("k", onceward.KindBytesMax+1)}, nil
	}).fails(t, onceward.ErrOutcomeTooLarge)
	wantCount(t, "rollbacks", store.rollbacks.Load(), 2)
	do(t.Context(), e, c, says("123")).wants(t, "123", false)
}

func TestWorkIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newProbe()
		e := newEngine(t, store, onceward.Options{WorkTimeout: 5 * time.Second})
		began := time.Now()
		do(t.Context(), e, hasty.For(alice, "k", nil), func(ctx context.Context, _ *tx) (onceward.Outcome, error) {
			<-ctx.Done()
			return onceward.Outcome{}, ctx.Err()
		}).fails(t, context.DeadlineExceeded)
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("the work had %v, want 5s", took)
		}
		wantCount(t, "rollbacks", store.rollbacks.Load(), 1)
	})
}

// F03: a caller that hangs up reaches the work, never the saving and the rolling back.
func TestF03HangingUpEndsNoSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newProbe()
		store.onSave = func(ctx context.Context, save func() (bool, error)) (bool, error) {
			if _, bounded := ctx.Deadline(); ctx.Err() != nil || !bounded {
				t.Errorf("Save's context: %v, bounded: %t", ctx.Err(), bounded)
			}
			return save()
		}
		store.onRollback = func(ctx context.Context) {
			if _, bounded := ctx.Deadline(); ctx.Err() != nil || !bounded {
				t.Errorf("Rollback's context: %v, bounded: %t", ctx.Err(), bounded)
			}
		}
		e := newEngine(t, store, onceward.Options{})
		for key, end := range map[string]error{"saved": nil, "rolled back": errWork} {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := e.Do(ctx, hasty.For(alice, key, nil), func(worked context.Context, _ *tx) (onceward.Outcome, error) {
				cancel()
				wantError(t, worked.Err(), context.Canceled)
				return onceward.Outcome{}, end
			})
			wantError(t, err, end)
		}
		wantCount(t, "saves", store.saves.Load(), 1)
		wantCount(t, "rollbacks", store.rollbacks.Load(), 1)
	})
}

func TestSaveIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newProbe()
		store.onSave = func(ctx context.Context, _ func() (bool, error)) (bool, error) {
			<-ctx.Done()
			return false, ctx.Err()
		}
		began := time.Now()
		e := newEngine(t, store, onceward.Options{SaveTimeout: 3 * time.Second})
		do(t.Context(), e, hasty.For(alice, "k", nil), says("ok")).fails(t, onceward.ErrNotCommitted)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the save had %v, want 3s", took)
		}
	})
}

func TestUntouchedIsReportedOrFails(t *testing.T) {
	store := newProbe()
	store.onSave = func(_ context.Context, save func() (bool, error)) (bool, error) {
		_, err := save()
		return true, err
	}
	recorded := &recorder{}
	do(t.Context(), newEngine(t, store, onceward.Options{Observer: recorded}), hasty.For(alice, "reported", nil), says("ok")).wants(t, "ok", false)
	if e := recorded.last(onceward.StepSave); e.Note != onceward.NoteUntouched || e.Err != nil {
		t.Errorf("the save ended with %q, %v", e.Note, e.Err)
	}
	failing := newEngine(t, store, onceward.Options{FailUntouched: true, Observer: recorded})
	do(t.Context(), failing, hasty.For(alice, "fails", nil), says("ok")).fails(t, onceward.ErrUntouched)
	do(t.Context(), failing, hasty.For(alice, "fails", nil), never(t)).wants(t, "ok", true)
	declared := *hasty
	declared.WritesNothing = true
	do(t.Context(), failing, declared.For(alice, "declared", nil), says("ok")).wants(t, "ok", false)
	if e := recorded.last(onceward.StepSave); e.Note != onceward.NoteNone {
		t.Errorf("a declared work's save ended with %q", e.Note)
	}
}
