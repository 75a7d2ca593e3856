package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func sweepTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "a sweep deletes what is over and nothing else", run: sweepsOver[Tx]},
		{name: "a sweep deletes no more than its limit", run: sweepsBatches[Tx]},
		{name: "sweepers at once share the work", run: sweepsAtOnce[Tx]},
		{name: "what there is to sweep is counted", run: backlogIsCounted[Tx]},
		{name: "a swept key may be used anew", run: sweptRunsAnew[Tx]},
		{name: "a sweep breaks no retry in flight", run: sweepBreaksNothing[Tx]},
		{name: "R2.11 beside sweepers, no record's life has two effects, and nobody waits for ever", run: sweepsBesideRetries[Tx]},
		{name: "a sweep does not wait for an attempt", needs: []Feature{ParallelAttempts}, run: sweepWaitsForNothing[Tx]},
		{
			name: "a sweep does not wait for a caller's transaction", run: sweepWaitsForNobody[Tx],
			needs: []Feature{JoinCommitsWithCaller, ParallelAttempts},
		},
	}
}

func (f *fixture[Tx]) sweeps(t testing.TB, grace time.Duration, limit, want int) {
	t.Helper()
	if got, err := f.Store.Sweep(t.Context(), grace, limit); err != nil || got != want {
		t.Errorf("Sweep with a grace of %v: %d deleted, %v; want %d", grace, got, err, want)
	}
}

// save saves n records that live for retention and are kept for keep after that.
func (f *fixture[Tx]) save(t testing.TB, n int, retention, keep time.Duration) {
	t.Helper()
	o := with(hasty, func(o *onceward.Operation) { o.Retention, o.RefuseExpired = retention, keep })
	e := f.engine(t)
	for i := range n {
		must(t, e, o.For(alice, fmt.Sprintf("%v and %v, %d", retention, keep, i), nil), f.writes("saved", "accepted"))
	}
}

func sweepsOver[Tx any](t *testing.T, f *fixture[Tx]) {
	f.save(t, 4, time.Hour, 0)
	f.save(t, 3, time.Hour, time.Hour)
	f.save(t, 2, 3*time.Hour, 0)
	f.sweeps(t, 0, 100, 0)
	f.Age(t, 90*time.Minute)
	f.sweeps(t, 40*time.Minute, 100, 0)
	f.sweeps(t, 20*time.Minute, 100, 4)
	f.wantRecords(t, 5)
	f.Age(t, time.Hour)
	f.sweeps(t, 20*time.Minute, 100, 3)
	f.sweeps(t, 0, 100, 0)
	f.wantRecords(t, 2)
	f.wantEffects(t, "saved", 9)
}

func sweepsBatches[Tx any](t *testing.T, f *fixture[Tx]) {
	f.save(t, 7, time.Hour, 0)
	f.save(t, 1, 9*time.Hour, 0)
	f.Age(t, 2*time.Hour)
	f.sweeps(t, 0, 3, 3)
	f.wantRecords(t, 5)
	sweeper, err := f.engine(t).Sweeper(onceward.SweeperOptions{BatchMax: 3, Pause: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := sweeper.RunOnce(t.Context()); err != nil || n != 4 {
		t.Errorf("RunOnce: %d deleted, %v; want 4", n, err)
	}
	f.wantRecords(t, 1)
}

func sweepsAtOnce[Tx any](t *testing.T, f *fixture[Tx]) {
	const records = 30
	f.save(t, records, time.Hour, 0)
	f.Age(t, 2*time.Hour)
	stores := f.stores(t)
	deleted := make([]int, 4)
	var sweepers sync.WaitGroup
	for i := range deleted {
		sweepers.Go(func() {
			for range records { // bounded: who finds all rows in others' hands tries again
				n, err := stores[i%len(stores)].Sweep(t.Context(), 0, 4)
				if err != nil {
					t.Errorf("Sweep: %v", err)
				}
				deleted[i] += n
			}
		})
	}
	sweepers.Wait()
	if sum := deleted[0] + deleted[1] + deleted[2] + deleted[3]; sum != records {
		t.Errorf("%v were deleted, want %d in all", deleted, records)
	}
	f.wantRecords(t, 0)
}

func sweptRunsAnew[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "the first")
	f.Age(t, 2*time.Hour)
	f.sweeps(t, 0, 1, 1)
	f.runs(t, c, "k", "the second")
	f.sweeps(t, 0, 1, 0)
	f.replays(t, c, "the second")
}

// sweepBreaksNothing: the sweep comes while an attempt has claimed the expired key anew. It may delete the old record
// or leave it; the new one has to stand.
func sweepBreaksNothing[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "the first")
	f.Age(t, 2*time.Hour)
	h := hold(t, f, f.engine(t), c, "k", "the second")
	swept := make(chan error)
	go func() {
		_, err := f.Store.Sweep(t.Context(), 0, 10)
		swept <- err
	}()
	if f.has(ParallelAttempts) {
		wantError(t, <-swept, nil)
	} else {
		defer func() { wantError(t, <-swept, nil) }()
	}
	wantReply(t, h.end(nil), "the second", false)
	f.wantRecords(t, 1)
	f.replays(t, c, "the second")
	f.sweeps(t, 0, 10, 0)
	f.wantEffects(t, "k", 2)
}

func sweepWaitsForNothing[Tx any](t *testing.T, f *fixture[Tx]) {
	f.save(t, 2, time.Hour, 0)
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "the first")
	f.Age(t, 2*time.Hour)
	h := hold(t, f, f.engine(t), c, "k", "the second")
	for _, store := range f.stores(t) {
		if n, err := store.Sweep(t.Context(), 0, 10); err != nil || n > 3 {
			t.Errorf("Sweep: %d deleted, %v", n, err)
		}
	}
	if left := f.Records(t); left > 1 {
		t.Errorf("the sweep left %d records, want at most the one that is claimed", left)
	}
	wantReply(t, h.end(nil), "the second", false)
	f.wantRecords(t, 1)
}

// sweepWaitsForNobody: the caller's transaction has put a new record in an expired one's place and is still open.
func sweepWaitsForNobody[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "the first")
	f.save(t, 2, time.Hour, 0)
	f.Age(t, 2*time.Hour)
	tx, commit, _ := f.Begin(t)
	f.joins(t, tx, c, "k", "the second")
	ctx, cancel := context.WithTimeout(t.Context(), onceward.ResolveTimeoutDefault) // ends a test that fails
	defer cancel()
	if n, err := f.Store.Sweep(ctx, 0, 10); err != nil || n != 2 {
		t.Errorf("Sweep: %d deleted, %v; want the 2 that nobody holds", n, err)
	}
	end(t, commit)
	f.joined(t, c, "the second")
	f.wantRecords(t, 1)
}

func backlogIsCounted[Tx any](t *testing.T, f *fixture[Tx]) {
	want := func(limit, records int, oldest time.Duration) {
		t.Helper()
		left, err := f.Store.Backlog(t.Context(), limit)
		if err != nil || left.Records != records || left.Oldest < oldest || left.Oldest > oldest+10*time.Minute || records == 0 && left.Oldest != 0 {
			t.Errorf("the backlog is %+v, %v; want %d records, the first over for %v", left, err, records, oldest)
		}
	}
	want(100, 0, 0)
	f.save(t, 3, time.Hour, 0)
	f.save(t, 2, time.Hour, time.Hour)
	f.issue(t, confirm, "quote 1") // kept for as long as its result could be asked for
	want(100, 0, 0)
	f.Age(t, 65*time.Minute)
	want(100, 3, 5*time.Minute)
	want(2, 2, 5*time.Minute)
	f.sweeps(t, 0, 100, 3)
	want(100, 0, 0)
	f.Age(t, time.Hour)
	want(100, 3, 55*time.Minute)
}
