package storetest

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
)

func unknownTests[Tx any]() []test[Tx] {
	lost := []Feature{LostCommit}
	return []test[Tx]{
		{name: "F04 a commit whose answer was lost is a success", needs: lost, run: lostAfter[Tx]},
		{name: "F04 a commit that did not arrive is none", needs: lost, run: lostBefore[Tx]},
		{name: "F04 a connection that was lost in the work leaves nothing", needs: lost, run: lostInWork[Tx]},
		{name: "F04 a lost commit among duplicates makes one effect", needs: lost, run: lostAmongDuplicates[Tx]},
	}
}

func lostAfter[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	e := engineOn(t, f.Lose(t, LoseAfterCommit), onceward.Options{})
	wantAnswer(t, must(t, e, c, f.writes("k", "accepted")), "accepted", false)
	f.wantEffects(t, "k", 1)
	f.wantRecords(t, 1)
	f.replays(t, c, "accepted")
}

func lostBefore[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	e := engineOn(t, f.Lose(t, LoseBeforeCommit), onceward.Options{})
	_, err := e.Do(t.Context(), c, f.writes("k", "lost"))
	wantError(t, err, onceward.ErrNotCommitted)
	f.wantEffects(t, "k", 0)
	f.wantRecords(t, 0)
	wantAnswer(t, must(t, e, c, f.writes("k", "the retry's")), "the retry's", false)
	f.replays(t, c, "the retry's")
	f.wantEffects(t, "k", 1)
}

// lostInWork: the work's statement or the saving fails, as the driver has it. The server may learn of the lost connection
// a moment later; the retry waits for that.
func lostInWork[Tx any](t *testing.T, f *fixture[Tx]) {
	c := patient.For(alice, "k", nil)
	e := engineOn(t, f.Lose(t, LoseInWork), onceward.Options{})
	if _, err := e.Do(t.Context(), c, f.writes("k", "lost")); err == nil {
		t.Error("an attempt whose connection was lost in the work succeeded")
	} else if errors.Is(err, onceward.ErrCommitUnresolved) {
		t.Errorf("nothing was committed, and it is not known: %v", err)
	}
	wantAnswer(t, must(t, e, c, f.writes("k", "the retry's")), "the retry's", false)
	f.replays(t, c, "the retry's")
	f.wantEffects(t, "k", 1)
	f.wantRecords(t, 1)
}

// lostAmongDuplicates: whatever the caller is told whose commit was lost, a duplicate may have won the claim before the
// resolution did; then its record stands for both.
func lostAmongDuplicates[Tx any](t *testing.T, f *fixture[Tx]) {
	for _, at := range []LosePoint{LoseBeforeCommit, LoseAfterCommit} {
		var runs atomic.Int64
		c := patient.For(alice, string(at), nil)
		h := hold(t, f, engineOn(t, f.Lose(t, at), onceward.Options{}), c, string(at), string(at)+" run 0")
		replies := f.waiting(t, c, f.counts(string(at), &runs))
		first := h.end(nil)
		for _, r := range replies {
			r := <-r
			if at == LoseAfterCommit {
				wantReply(t, r, string(at)+" run 0", true)
			} else {
				wantReply(t, r, string(at)+" run 1", r.result.Replayed)
			}
		}
		if at == LoseAfterCommit {
			wantReply(t, first, string(at)+" run 0", false)
		} else if first.err != nil {
			wantError(t, first.err, onceward.ErrNotCommitted)
		}
		f.wantEffects(t, string(at), 1)
	}
}
