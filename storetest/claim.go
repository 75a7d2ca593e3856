package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func claimTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "a duplicate that does not wait is refused at once", run: refusesDuplicate[Tx]},
		{name: "a duplicate that waits is answered by the winner's record", run: waitsForRecord[Tx]},
		{name: "a duplicate that waits gets the claim after a rollback", run: waitsForClaim[Tx]},
		{name: "F06 a changed meaning that waits is refused after the commit", run: waitsForRefusal[Tx]},
		{name: "F06 a changed meaning that waits runs after a rollback", run: waitsForTurn[Tx]},
		{name: "a duplicate whose time is up is told so", run: waitsInVain[Tx]},
		{name: "a duplicate that gives up while it waits leaves nothing", run: givesUp[Tx]},
		{name: "a held key delays no other", needs: []Feature{ParallelAttempts}, run: delaysNoOther[Tx]},
	}
}

// stores are the store, and another process's where there can be one.
func (f *fixture[Tx]) stores(t testing.TB) []onceward.Store[Tx] {
	if f.has(Processes) {
		return []onceward.Store[Tx]{f.Store, f.Another(t)}
	}
	return []onceward.Store[Tx]{f.Store}
}

// waiting starts c on every store and returns once all of them are waiting for the attempt that holds it: a claim that
// began later has given up meanwhile.
func (f *fixture[Tx]) waiting(t testing.TB, c onceward.Command, work onceward.Work[Tx]) (replies []chan reply) {
	t.Helper()
	stores := f.stores(t)
	for _, store := range stores {
		replies = append(replies, contend(t, store, c, work))
	}
	for _, store := range stores {
		r := <-contend(t, store, brief.For(c.Scope, c.Key, c.Meaning), unreachable[Tx](t))
		wantError(t, r.err, onceward.ErrInFlight)
	}
	return replies
}

func refusesDuplicate[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", "two books")
	h := hold(t, f, f.engine(t), c, "k", "accepted")
	for range 3 {
		for _, store := range f.stores(t) {
			r := <-contend(t, store, c, unreachable[Tx](t))
			wantError(t, r.err, onceward.ErrInFlight)
			changed := <-contend(t, store, hasty.For(alice, "k", "three books"), unreachable[Tx](t))
			if changed.err == nil {
				t.Errorf("a changed meaning was answered %q while the first attempt ran", changed.result.Outcome.Data)
			}
		}
	}
	f.wantEffects(t, "k", 0)
	f.wantRecords(t, 0)
	wantReply(t, h.end(nil), "accepted", false)
	f.replays(t, c, "accepted")
	f.wantEffects(t, "k", 1)
}

func wantReply(t testing.TB, r reply, answer string, replayed bool) {
	t.Helper()
	if r.err != nil {
		t.Errorf("Do: %v", r.err)
		return
	}
	wantAnswer(t, r.result, answer, replayed)
}

func waitsForRecord[Tx any](t *testing.T, f *fixture[Tx]) {
	c := patient.For(alice, "k", nil)
	h := hold(t, f, f.engine(t), c, "k", "the winner's")
	replies := f.waiting(t, c, unreachable[Tx](t))
	wantReply(t, h.end(nil), "the winner's", false)
	for _, r := range replies {
		wantReply(t, <-r, "the winner's", true)
	}
	f.wantEffects(t, "k", 1)
	f.wantRecords(t, 1)
}

func waitsForClaim[Tx any](t *testing.T, f *fixture[Tx]) {
	c := patient.For(alice, "k", nil)
	h := hold(t, f, f.engine(t), c, "k", "the loser's")
	replies := f.waiting(t, c, f.writes("k", "the next one's"))
	wantError(t, h.end(errWork).err, errWork)
	ran := 0
	for _, r := range replies {
		r := <-r
		wantReply(t, r, "the next one's", r.result.Replayed)
		if !r.result.Replayed {
			ran++
		}
	}
	if ran != 1 {
		t.Errorf("%d of the waiting ran, want 1", ran)
	}
	f.wantEffects(t, "k", 1)
	f.wantRecords(t, 1)
}

func waitsForRefusal[Tx any](t *testing.T, f *fixture[Tx]) {
	h := hold(t, f, f.engine(t), patient.For(alice, "k", "two books"), "k", "accepted")
	replies := f.waiting(t, patient.For(alice, "k", "three books"), unreachable[Tx](t))
	wantReply(t, h.end(nil), "accepted", false)
	for _, r := range replies {
		wantError(t, (<-r).err, onceward.ErrKeyReused)
	}
	f.wantEffects(t, "k", 1)
}

func waitsForTurn[Tx any](t *testing.T, f *fixture[Tx]) {
	h := hold(t, f, f.engine(t), patient.For(alice, "k", "a wrong request"), "k", "never")
	replies := f.waiting(t, patient.For(alice, "k", "the right one"), f.writes("k", "accepted"))
	wantError(t, h.end(errWork).err, errWork)
	for _, r := range replies {
		r := <-r
		wantReply(t, r, "accepted", r.result.Replayed)
	}
	f.fails(t, hasty.For(alice, "k", "a wrong request"), onceward.ErrKeyReused)
	f.wantEffects(t, "k", 1)
}

func waitsInVain[Tx any](t *testing.T, f *fixture[Tx]) {
	c := brief.For(alice, "k", nil)
	h := hold(t, f, f.engine(t), c, "k", "accepted")
	for _, store := range f.stores(t) {
		began := time.Now()
		r := <-contend(t, store, c, unreachable[Tx](t))
		wantError(t, r.err, onceward.ErrInFlight)
		// A millisecond is what databases and timers may round away.
		if took := time.Since(began); took < brief.Wait-time.Millisecond {
			t.Errorf("it waited %v, want %v", took, brief.Wait)
		}
	}
	wantReply(t, h.end(nil), "accepted", false)
	f.wantEffects(t, "k", 1)
}

func givesUp[Tx any](t *testing.T, f *fixture[Tx]) {
	c := patient.For(alice, "k", nil)
	h := hold(t, f, f.engine(t), c, "k", "accepted")
	for _, store := range f.stores(t) {
		ctx, cancel := context.WithCancel(t.Context())
		claims := claimSignal(make(chan struct{}, 1))
		e := engineOn(t, store, onceward.Options{Observer: claims})
		replied := make(chan error)
		go func() {
			_, err := e.Do(ctx, c, unreachable[Tx](t))
			replied <- err
		}()
		<-claims
		cancel()
		wantError(t, <-replied, context.Canceled)
	}
	wantReply(t, h.end(nil), "accepted", false)
	f.replays(t, c, "accepted")
	f.wantEffects(t, "k", 1)
}

func delaysNoOther[Tx any](t *testing.T, f *fixture[Tx]) {
	h := hold(t, f, f.engine(t), hasty.For(alice, "k", nil), "k", "accepted")
	for _, store := range f.stores(t) {
		c := hasty.For(alice, "another", nil)
		if _, err := engineOn(t, store, onceward.Options{}).Do(t.Context(), c, f.writes("another", "accepted, too")); err != nil {
			t.Errorf("another key: %v", err)
		}
	}
	f.wantEffects(t, "another", 1)
	wantReply(t, h.end(nil), "accepted", false)
}
