package storetest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/onceward/onceward"
)

var errWork = errors.New("storetest: the work failed")

func failureTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "a work's error rolls back, is returned, and the retry runs", run: rollsBackError[Tx]},
		{name: "a panic rolls back, goes on, and the retry runs", run: rollsBackPanic[Tx]},
		{name: "runtime.Goexit rolls back, and the retry runs", run: rollsBackGoexit[Tx]},
		{name: "an outcome that is too large rolls back", run: rollsBackLargeOutcome[Tx]},
		{name: "F23 a swallowed SQL error leaves all or nothing", needs: []Feature{Statements}, run: swallowedError[Tx]},
		{name: "the work cannot commit or roll back", needs: []Feature{GuardedTx}, run: cannotEnd[Tx]},
		{name: "a leaked transaction is dead", needs: []Feature{GuardedTx}, run: leakedTx[Tx]},
		{name: "a raw COMMIT in the work is caught", needs: []Feature{RawEnd}, run: rawCommit[Tx]},
		{name: "a raw ROLLBACK in the work is caught", needs: []Feature{RawEnd}, run: rawRollback[Tx]},
		{name: "a work that missed its transaction is noticed", needs: []Feature{NoticesUntouched}, run: noticesUntouched[Tx]},
	}
}

// leavesNothing has nothing remain of a failed attempt at c: no effect, no record, no claim.
func (f *fixture[Tx]) leavesNothing(t testing.TB, c onceward.Command, key string) {
	t.Helper()
	f.wantEffects(t, key, 0)
	f.wantRecords(t, 0)
	f.runs(t, c, key, "the retry's")
	f.replays(t, c, "the retry's")
	f.wantEffects(t, key, 1)
}

func rollsBackError[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	for range 3 {
		result, err := f.engine(t).Do(t.Context(), c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			return outcome("discarded"), errors.Join(f.Write(ctx, tx, "k"), errWork)
		})
		wantError(t, err, errWork)
		if result.Outcome.Data != nil {
			t.Errorf("a failed attempt was answered %q", result.Outcome.Data)
		}
	}
	f.leavesNothing(t, c, "k")
}

func rollsBackPanic[Tx any](t *testing.T, f *fixture[Tx]) {
	c, e := hasty.For(alice, "k", nil), f.engine(t)
	func() {
		defer func() {
			if v := recover(); v != errWork {
				t.Errorf("recovered %v, want the work's panic", v)
			}
		}()
		_, err := e.Do(t.Context(), c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			if err := f.Write(ctx, tx, "k"); err != nil {
				t.Error(err)
			}
			panic(errWork)
		})
		t.Errorf("Do returned %v", err)
	}()
	f.leavesNothing(t, c, "k")
	wantAnswer(t, must(t, e, c, unreachable[Tx](t)), "the retry's", true)
}

func rollsBackGoexit[Tx any](t *testing.T, f *fixture[Tx]) {
	c, e := hasty.For(alice, "k", nil), f.engine(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := e.Do(t.Context(), c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			if err := f.Write(ctx, tx, "k"); err != nil {
				t.Error(err)
			}
			runtime.Goexit()
			return outcome("unreachable"), nil
		})
		t.Errorf("Do returned %v", err)
	}()
	<-done
	f.leavesNothing(t, c, "k")
	wantAnswer(t, must(t, e, c, unreachable[Tx](t)), "the retry's", true)
}

func rollsBackLargeOutcome[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	e := engineOn(t, f.Store, onceward.Options{OutcomeBytesMax: 1000})
	_, err := e.Do(t.Context(), c, f.writes("k", string(bytes.Repeat([]byte{'x'}, 1001))))
	wantError(t, err, onceward.ErrOutcomeTooLarge)
	f.leavesNothing(t, c, "k")
}

// swallowedError: some databases go on after a statement's error, others refuse all that follows, the commit included.
// Either is right as long as the work and its record share one fate.
func swallowedError[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	_, err := f.engine(t).Do(t.Context(), c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		if err := f.Write(ctx, tx, "k"); err != nil {
			return onceward.Outcome{}, err
		}
		if f.Refused(ctx, tx) == nil {
			t.Error("the harness's refused statement was not refused")
		}
		return outcome("accepted"), nil
	})
	if err == nil {
		f.wantEffects(t, "k", 1)
		f.replays(t, c, "accepted")
		return
	}
	wantError(t, err, onceward.ErrNotCommitted)
	f.leavesNothing(t, c, "k")
}

// enders are the ways in which transactions of Go's libraries end. A type without them cannot be ended at all.
type (
	contextEnder interface {
		Commit(context.Context) error
		Rollback(context.Context) error
	}
	plainEnder interface {
		Commit() error
		Rollback() error
	}
)

func tryToEnd(t testing.TB, ctx context.Context, tx any) {
	t.Helper()
	var commit, rollback error = onceward.ErrTxEnded, onceward.ErrTxEnded
	switch ender := tx.(type) {
	case contextEnder:
		commit, rollback = ender.Commit(ctx), ender.Rollback(ctx)
	case plainEnder:
		commit, rollback = ender.Commit(), ender.Rollback()
	}
	wantError(t, commit, onceward.ErrTxEnded)
	wantError(t, rollback, onceward.ErrTxEnded)
}

func cannotEnd[Tx any](t *testing.T, f *fixture[Tx]) {
	work := func(end error) onceward.Work[Tx] {
		return func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			err := f.Write(ctx, tx, "k")
			tryToEnd(t, ctx, tx)
			return outcome("accepted"), errors.Join(err, f.Write(ctx, tx, "k"), end)
		}
	}
	c := hasty.For(alice, "k", nil)
	_, err := f.engine(t).Do(t.Context(), c, work(errWork))
	wantError(t, err, errWork)
	f.wantEffects(t, "k", 0)
	must(t, f.engine(t), c, work(nil))
	f.wantEffects(t, "k", 2)
	f.replays(t, c, "accepted")
}

func leakedTx[Tx any](t *testing.T, f *fixture[Tx]) {
	for key, end := range map[string]error{"committed": nil, "rolled back": errWork} {
		var leaked Tx
		_, err := f.engine(t).Do(t.Context(), hasty.For(alice, key, nil), func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			leaked = tx
			return outcome("accepted"), errors.Join(f.Write(ctx, tx, "effect"), end)
		})
		if end == nil && err != nil {
			t.Fatal(err)
		}
		// Another attempt may have the same connection by now.
		c := hasty.For(alice, key+", and after", nil)
		h := hold(t, f, f.engine(t), c, "after", "accepted")
		if f.Write(t.Context(), leaked, "leak") == nil {
			t.Errorf("a transaction that was %s can be written to", key)
		}
		tryToEnd(t, t.Context(), leaked)
		wantReply(t, h.end(nil), "accepted", false)
	}
	f.wantEffects(t, "effect", 1)
	f.wantEffects(t, "leak", 0)
	f.wantEffects(t, "after", 2)
}

// endsRaw is a work that ends its transaction, swallows what it is told, and writes on.
func (f *fixture[Tx]) endsRaw(statement string) (work onceward.Work[Tx], refused *error) {
	refused = new(error)
	return func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		if err := f.Write(ctx, tx, "before"); err != nil {
			return onceward.Outcome{}, err
		}
		*refused = f.EndRaw(ctx, tx, statement)
		_ = f.Write(ctx, tx, "after")
		return outcome("accepted"), nil
	}, refused
}

func rawCommit[Tx any](t *testing.T, f *fixture[Tx])   { caughtRaw(t, f, "COMMIT") }
func rawRollback[Tx any](t *testing.T, f *fixture[Tx]) { caughtRaw(t, f, "ROLLBACK") }

// caughtRaw: a store that can refuse the statement goes on as if it had not been sent. Where it can only notice, what a
// raw COMMIT made cannot be taken back: that attempt fails as ErrTxEnded, leaves no record, and invites no retry.
func caughtRaw[Tx any](t *testing.T, f *fixture[Tx], statement string) {
	c := hasty.For(alice, "k", nil)
	work, refused := f.endsRaw(statement)
	_, err := f.engine(t).Do(t.Context(), c, work)
	if err == nil {
		if *refused == nil {
			t.Errorf("nobody was told of the raw %s", statement)
		}
		f.wantEffects(t, "before", 1)
		f.wantEffects(t, "after", 1)
		f.replays(t, c, "accepted")
	} else {
		wantError(t, err, onceward.ErrTxEnded)
		if errors.Is(err, onceward.ErrNotCommitted) {
			t.Errorf("the error claims that nothing remains: %v", err)
		}
		f.wantRecords(t, 0)
		f.wantEffects(t, "after", 0)
	}
	f.runs(t, hasty.For(alice, "another", nil), "another", "accepted")
	f.wantEffects(t, "another", 1)
}

func noticesUntouched[Tx any](t *testing.T, f *fixture[Tx]) {
	missed := func(context.Context, Tx) (onceward.Outcome, error) { return outcome("accepted"), nil }
	c := hasty.For(alice, "k", nil)
	_, err := f.engine(t).Do(t.Context(), c, missed)
	wantError(t, err, onceward.ErrUntouched)
	f.replays(t, c, "accepted")

	declared := with(hasty, func(o *onceward.Operation) { o.WritesNothing = true }).For(alice, "declared", nil)
	wantAnswer(t, must(t, f.engine(t), declared, missed), "accepted", false)

	found := func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		onceward.WroteNothing(ctx)
		return missed(ctx, tx)
	}
	wantAnswer(t, must(t, f.engine(t), hasty.For(alice, "found", nil), found), "accepted", false)
	_, err = f.engine(t).Do(t.Context(), hasty.For(alice, "another", nil), missed) // it was said of one attempt only
	wantError(t, err, onceward.ErrUntouched)
}
