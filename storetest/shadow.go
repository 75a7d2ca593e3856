package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func shadowTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "B17 in shadow mode every command runs, and what would have become of it is counted", run: shadowRuns[Tx]},
		{name: "B17 a shadow counts attempts that meet", needs: []Feature{ParallelAttempts}, run: shadowMeets[Tx]},
		{name: "B17 a joined command runs in shadow mode", run: shadowJoins[Tx]},
		{name: "B17 what a shadow has recorded is replayed without it", run: shadowEnds[Tx]},
	}
}

// shadowed is a fresh process in shadow mode.
func (f *fixture[Tx]) shadowed(t testing.TB, s *onceward.Shadow) *onceward.Engine[Tx] {
	t.Helper()
	return engineOn(t, f.Store, onceward.Options{FailUntouched: true, Shadow: s})
}

func wantReport(t testing.TB, s *onceward.Shadow, want ...onceward.ShadowCount) {
	t.Helper()
	if got := s.Report(); !slices.Equal(got, want) {
		t.Errorf("the report is %+v, want %+v", got, want)
	}
}

func shadowRuns[Tx any](t *testing.T, f *fixture[Tx]) {
	shadow := &onceward.Shadow{}
	refusing := with(hasty, func(o *onceward.Operation) { o.RefuseExpired = time.Hour })
	confirming := f.issue(t, confirm, "quote 1")
	fresh := f.shadowed(t, shadow)
	for i, c := range []onceward.Command{
		refusing.For(alice, "k", "two books"),
		refusing.For(alice, "k", "two books"), // a duplicate
		refusing.For(alice, "k", "three books"),
		refusing.For(alice, " ", "two books"),
		refusing.For(alice, "no meaning", make(chan int)),
		confirm.For(alice, confirming, nil),
		confirm.For(alice, confirming, nil), // a duplicate
		confirm.For(alice, "a guess", nil),
	} {
		e := f.shadowed(t, shadow)
		if i%2 == 0 {
			e = fresh // which remembers
		}
		wantAnswer(t, must(t, e, c, f.writes("k", "ran")), "ran", false)
	}
	f.Age(t, time.Hour)
	wantAnswer(t, must(t, f.shadowed(t, shadow), refusing.For(alice, "k", "two books"), f.writes("k", "ran")), "ran", false)
	f.wantEffects(t, "k", 9)
	wantReport(t, shadow,
		onceward.ShadowCount{Operation: confirm.Name, Commands: 3, Duplicates: 1, Unknown: 1},
		onceward.ShadowCount{Operation: hasty.Name, Commands: 6, Duplicates: 1, Reused: 1, Expired: 1, NoKey: 1, NoMeaning: 1})
}

func shadowMeets[Tx any](t *testing.T, f *fixture[Tx]) {
	shadow := &onceward.Shadow{}
	e, c := f.shadowed(t, shadow), patient.For(alice, "k", nil)
	runs, ends := make(chan struct{}), make(chan struct{})
	var first sync.WaitGroup
	first.Go(func() {
		must(t, e, c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			close(runs)
			<-ends
			return outcome("the first"), f.Write(ctx, tx, "k")
		})
	})
	<-runs
	wantAnswer(t, must(t, e, c, f.writes("k", "the second")), "the second", false) // while the first still runs
	close(ends)
	first.Wait()
	f.wantEffects(t, "k", 2)
	wantReport(t, shadow, onceward.ShadowCount{Operation: patient.Name, Commands: 2, InFlight: 1})
}

func shadowJoins[Tx any](t *testing.T, f *fixture[Tx]) {
	shadow := &onceward.Shadow{}
	for _, want := range []string{"the first", "the second"} {
		tx, commit, _ := f.Begin(t)
		got, err := onceward.Join(t.Context(), f.shadowed(t, shadow), tx, hasty.For(alice, "k", nil), f.answers("k", want))
		if err != nil || got != want {
			t.Errorf("Join: %q, %v; want %q", got, err, want)
		}
		end(t, commit)
	}
	f.wantEffects(t, "k", 2)
	wantReport(t, shadow, onceward.ShadowCount{Operation: hasty.Name, Commands: 2, Duplicates: 1})
}

func shadowEnds[Tx any](t *testing.T, f *fixture[Tx]) {
	shadow, c := &onceward.Shadow{}, hasty.For(alice, "k", "two books")
	for _, answer := range []string{"the first", "the second"} {
		must(t, f.shadowed(t, shadow), c, f.writes("k", answer))
	}
	f.replays(t, c, "the first")
	f.fails(t, hasty.For(alice, "k", "three books"), onceward.ErrKeyReused)
	f.Age(t, 10*time.Minute)
	if _, err := f.Store.Sweep(t.Context(), 0, 100); err != nil {
		t.Fatal(err)
	}
	f.wantRecords(t, 1) // the second has left nothing
}
