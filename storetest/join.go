package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func joinTests[Tx any]() []test[Tx] {
	own := []Feature{JoinCommitsWithCaller}
	return []test[Tx]{
		{name: "a joined command is replayed once the caller has committed", run: joinStands[Tx]},
		{name: "a joined command is nothing once the caller has rolled back", needs: own, run: joinFalls[Tx]},
		{name: "a joined work's error leaves the caller's transaction usable", needs: own, run: joinError[Tx]},
		{name: "a joined work's panic leaves the caller's transaction usable", needs: own, run: joinPanic[Tx]},
		{name: "a join is answered by the record that stands", run: joinReplays[Tx]},
		{name: "a join is refused for another meaning", run: joinRefuses[Tx]},
		{name: "a command joined twice in one transaction runs once", run: joinTwice[Tx]},
		{name: "a join claims an expired key anew", run: joinExpired[Tx]},
		{name: "a join is refused while another attempt runs", needs: []Feature{ParallelAttempts}, run: joinInFlight[Tx]},
		{
			name: "another attempt is refused until the caller's transaction ends", run: joinHolds[Tx],
			needs: []Feature{JoinCommitsWithCaller, ParallelAttempts},
		},
		{name: "a command joined in another's work shares its fate", needs: own, run: joinNested[Tx]},
	}
}

// answers is a joined work with one effect under key.
func (f *fixture[Tx]) answers(key, answer string) func(context.Context, Tx) (string, error) {
	return func(ctx context.Context, tx Tx) (string, error) { return answer, f.Write(ctx, tx, key) }
}

// joins has c joined to tx by a fresh engine, and answered.
func (f *fixture[Tx]) joins(t testing.TB, tx Tx, c onceward.Command, key, answer string) {
	t.Helper()
	got, err := onceward.Join(t.Context(), f.engine(t), tx, c, f.answers(key, answer))
	if err != nil || got != answer {
		t.Errorf("Join: %q, %v; want %q", got, err, answer)
	}
}

// joined has c answered by what a join has saved.
func (f *fixture[Tx]) joined(t testing.TB, c onceward.Command, answer string) {
	t.Helper()
	got, err := onceward.Run(t.Context(), f.engine(t), c, func(context.Context, Tx) (string, error) {
		t.Error("the work ran again")
		return "", errWork
	})
	if err != nil || got != answer {
		t.Errorf("Run: %q, %v; want the joined answer %q", got, err, answer)
	}
}

func end(t testing.TB, end func() error) {
	t.Helper()
	if err := end(); err != nil {
		t.Errorf("ending the caller's transaction: %v", err)
	}
}

func (f *fixture[Tx]) write(t testing.TB, tx Tx, key string) {
	t.Helper()
	if err := f.Write(t.Context(), tx, key); err != nil {
		t.Errorf("writing in the caller's transaction: %v", err)
	}
}

func joinStands[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	tx, commit, _ := f.Begin(t)
	f.write(t, tx, "before")
	f.joins(t, tx, c, "k", "joined")
	f.write(t, tx, "after")
	end(t, commit)
	for _, key := range []string{"before", "k", "after"} {
		f.wantEffects(t, key, 1)
	}
	f.joined(t, c, "joined")
	f.wantRecords(t, 1)
}

func joinFalls[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	tx, _, rollback := f.Begin(t)
	f.joins(t, tx, c, "k", "joined")
	end(t, rollback)
	f.leavesNothing(t, c, "k")
}

func joinError[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	tx, commit, _ := f.Begin(t)
	f.write(t, tx, "before")
	_, err := onceward.Join(t.Context(), f.engine(t), tx, c, func(ctx context.Context, tx Tx) (string, error) {
		return "", errors.Join(f.Write(ctx, tx, "k"), errWork)
	})
	wantError(t, err, errWork)
	f.write(t, tx, "after")
	end(t, commit)
	f.wantEffects(t, "before", 1)
	f.wantEffects(t, "after", 1)
	f.leavesNothing(t, c, "k")
}

func joinPanic[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	tx, commit, _ := f.Begin(t)
	func() {
		defer func() { _ = recover() }()
		_, _ = onceward.Join(t.Context(), f.engine(t), tx, c, func(ctx context.Context, tx Tx) (string, error) {
			f.write(t, tx, "k")
			panic(errWork)
		})
		t.Error("the panic did not go on")
	}()
	f.write(t, tx, "after")
	end(t, commit)
	f.wantEffects(t, "after", 1)
	f.leavesNothing(t, c, "k")
}

func joinReplays[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	first, commit, _ := f.Begin(t)
	f.joins(t, first, c, "k", "joined")
	end(t, commit)
	second, commit, _ := f.Begin(t)
	got, err := onceward.Join(t.Context(), f.engine(t), second, c, f.answers("k", "again"))
	if err != nil || got != "joined" {
		t.Errorf("Join: %q, %v; want the record's answer", got, err)
	}
	f.write(t, second, "after")
	end(t, commit)
	f.wantEffects(t, "k", 1)
	f.wantEffects(t, "after", 1)
}

func joinRefuses[Tx any](t *testing.T, f *fixture[Tx]) {
	f.runs(t, hasty.For(alice, "k", "two books"), "k", "accepted")
	tx, commit, _ := f.Begin(t)
	_, err := onceward.Join(t.Context(), f.engine(t), tx, hasty.For(alice, "k", "three books"), f.answers("k", "again"))
	wantError(t, err, onceward.ErrKeyReused)
	f.write(t, tx, "after")
	end(t, commit)
	f.wantEffects(t, "k", 1)
	f.wantEffects(t, "after", 1)
}

func joinTwice[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	tx, commit, _ := f.Begin(t)
	f.joins(t, tx, c, "k", "joined")
	got, err := onceward.Join(t.Context(), f.engine(t), tx, c, f.answers("k", "again"))
	if err != nil || got != "joined" {
		t.Errorf("the second Join: %q, %v; want the first's answer", got, err)
	}
	end(t, commit)
	f.wantEffects(t, "k", 1)
	f.wantRecords(t, 1)
}

func joinExpired[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "the first")
	f.Age(t, 2*time.Hour)
	tx, commit, _ := f.Begin(t)
	f.joins(t, tx, c, "k", "the second")
	end(t, commit)
	f.joined(t, c, "the second")
	f.wantEffects(t, "k", 2)
	f.wantRecords(t, 1)
}

func joinInFlight[Tx any](t *testing.T, f *fixture[Tx]) {
	c := patient.For(alice, "k", nil)
	h := hold(t, f, f.engine(t), c, "k", "accepted")
	tx, commit, _ := f.Begin(t)
	_, err := onceward.Join(t.Context(), f.engine(t), tx, c, f.answers("k", "joined"))
	wantError(t, err, onceward.ErrInFlight)
	f.write(t, tx, "after")
	wantReply(t, h.end(nil), "accepted", false)
	end(t, commit)
	f.wantEffects(t, "k", 1)
	f.wantEffects(t, "after", 1)
}

func joinHolds[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	tx, _, rollback := f.Begin(t)
	f.joins(t, tx, c, "k", "joined")
	for _, store := range f.stores(t) {
		wantError(t, (<-contend(t, store, c, unreachable[Tx](t))).err, onceward.ErrInFlight)
	}
	replies := f.waiting(t, patient.For(alice, "k", nil), f.writes("k", "accepted"))
	end(t, rollback)
	for _, r := range replies {
		r := <-r
		wantReply(t, r, "accepted", r.result.Replayed)
	}
	f.wantEffects(t, "k", 1)
	f.wantRecords(t, 1)
}

func joinNested[Tx any](t *testing.T, f *fixture[Tx]) {
	outer, inner := hasty.For(alice, "outer", nil), hasty.For(alice, "inner", nil)
	e := f.engine(t)
	work := func(end error) onceward.Work[Tx] {
		return func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			err := f.Write(ctx, tx, "outer")
			f.joins(t, tx, inner, "inner", "joined")
			return outcome("accepted"), errors.Join(err, end)
		}
	}
	_, err := e.Do(t.Context(), outer, work(errWork))
	wantError(t, err, errWork)
	f.wantRecords(t, 0)
	f.wantEffects(t, "inner", 0)
	wantAnswer(t, must(t, e, outer, work(nil)), "accepted", false)
	f.replays(t, outer, "accepted")
	f.joined(t, inner, "joined")
	f.wantEffects(t, "outer", 1)
	f.wantEffects(t, "inner", 1)
	f.wantRecords(t, 2)
}
