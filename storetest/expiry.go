package storetest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func expiryTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "F30 a record answers until its retention is over", run: answersUntilExpired[Tx]},
		{name: "a replay does not extend a record's life", run: replayExtendsNothing[Tx]},
		{name: "F30 an expired key is claimed anew by one of many", run: claimedAnewOnce[Tx]},
		{name: "an expired key takes another meaning", run: expiredTakesMeaning[Tx]},
		{name: "a rollback leaves an expired record as it was", run: expiredOutlivesRollback[Tx]},
		{name: "an expired key is refused where the operation says so", run: refusesExpired[Tx]},
		{name: "a record's life counts from its saving", run: livesFromSaving[Tx]},
	}
}

func answersUntilExpired[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "the first")
	f.Age(t, 55*time.Minute)
	f.replays(t, c, "the first")
	f.Age(t, 5*time.Minute)
	f.runs(t, c, "k", "the second")
	f.replays(t, c, "the second")
	f.wantRecords(t, 1)
}

func replayExtendsNothing[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "the first")
	for range 3 {
		f.Age(t, 19*time.Minute)
		f.replays(t, c, "the first")
	}
	f.Age(t, 19*time.Minute)
	f.runs(t, c, "k", "the second")
}

func claimedAnewOnce[Tx any](t *testing.T, f *fixture[Tx]) {
	c := patient.For(alice, "k", nil)
	f.runs(t, c, "k", "the old answer")
	for round := range 3 {
		f.Age(t, 2*time.Hour)
		var runs atomic.Int64
		replies := f.crowd(t, 16, func(int) (onceward.Command, onceward.Work[Tx]) { return c, f.counts("k", &runs) })
		for _, r := range replies {
			wantReply(t, r, "k run 1", r.result.Replayed)
		}
		f.wantEffects(t, "k", 2+round)
		f.wantRecords(t, 1)
	}
}

func expiredTakesMeaning[Tx any](t *testing.T, f *fixture[Tx]) {
	f.runs(t, hasty.For(alice, "k", "two books"), "k", "the first")
	f.Age(t, time.Hour)
	f.runs(t, hasty.For(alice, "k", "three books"), "k", "the second")
	f.replays(t, hasty.For(alice, "k", "three books"), "the second")
	f.fails(t, hasty.For(alice, "k", "two books"), onceward.ErrKeyReused)
}

func expiredOutlivesRollback[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "the first")
	f.Age(t, time.Hour)
	_, err := f.engine(t).Do(t.Context(), c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		_ = f.Write(ctx, tx, "k")
		return onceward.Outcome{}, errWork
	})
	wantError(t, err, errWork)
	f.wantRecords(t, 1)
	f.wantEffects(t, "k", 1)
	f.runs(t, c, "k", "the second")
	f.wantRecords(t, 1)
}

func refusesExpired[Tx any](t *testing.T, f *fixture[Tx]) {
	refusing := with(hasty, func(o *onceward.Operation) { o.RefuseExpired = 2 * time.Hour })
	c := refusing.For(alice, "k", "two books")
	f.runs(t, c, "k", "the first")
	f.replays(t, c, "the first")
	for range 2 {
		f.Age(t, time.Hour)
		f.fails(t, c, onceward.ErrExpired)
		f.fails(t, refusing.For(alice, "k", "three books"), onceward.ErrKeyReused)
	}
	f.wantEffects(t, "k", 1)
	f.Age(t, time.Hour)
	f.runs(t, c, "k", "the second")
	f.wantEffects(t, "k", 2)
}

// livesFromSaving: the times compared are two durations, so that no two clocks meet: what the store says is left of the
// record, and what can have passed since the work ended. The work takes time indeed, as there is no record to age yet.
func livesFromSaving[Tx any](t *testing.T, f *fixture[Tx]) {
	const took = 100 * time.Millisecond
	for name, retention := range map[string]time.Duration{"longer than the work": time.Hour, "shorter than the work": took / 2} {
		o := with(hasty, func(o *onceward.Operation) { o.Retention = retention })
		c := o.For(alice, name, nil)
		var ended time.Time
		result := must(t, f.engine(t), c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			err := f.Write(ctx, tx, name)
			<-time.After(took)
			ended = time.Now()
			return outcome("accepted"), err
		})
		wantAnswer(t, result, "accepted", false)
		r := find(t, f.engine(t), c)
		if least := retention - time.Since(ended) - took/4; r.Life < least {
			t.Errorf("a retention %s: %v of %v are left, want at least %v", name, r.Life, retention, least)
		}
	}
}
