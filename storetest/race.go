package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// The size of the races. Rounds are few: a store's tests are run often, and CI repeats them.
const (
	raceRounds  = 4
	raceKeys    = 6
	raceCallers = 8 // of one key
)

func raceTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "many duplicates of many keys make one effect each", run: racesDuplicates[Tx]},
		{name: "many duplicates that do not wait make one effect", run: racesHasty[Tx]},
		{name: "many that do not wait are all answered by a record that stands", run: racesReaders[Tx]},
		{name: "attempts that fail make way until one stands", run: racesFailures[Tx]},
		{name: "F06 of overlapping meanings one stands", run: racesMeanings[Tx]},
		{name: "F30 overlapping claims of expired keys make one effect each", run: racesExpired[Tx]},
		{name: "where a lock has failed the key decides", needs: []Feature{Arbiter}, run: keyDecides[Tx]},
	}
}

// crowd has n callers start together, in turn on each of several processes, and gives their replies. Who is told that
// an attempt is in flight comes again and waits.
func (f *fixture[Tx]) crowd(t testing.TB, n int, caller func(i int) (onceward.Command, onceward.Work[Tx])) []reply {
	t.Helper()
	engines := f.engines(t)
	replies := make([]reply, n)
	start := make(chan struct{})
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() {
			<-start
			c, work := caller(i)
			replies[i] = insist(t.Context(), engines[i%len(engines)], c, work)
		})
	}
	close(start)
	callers.Wait()
	return replies
}

func insist[Tx any](ctx context.Context, e *onceward.Engine[Tx], c onceward.Command, work onceward.Work[Tx]) reply {
	result, err := e.Do(ctx, c, work)
	if errors.Is(err, onceward.ErrInFlight) {
		c.Operation = patient
		result, err = e.Do(ctx, c, work)
	}
	return reply{result, err}
}

// oneAnswer has all replies succeed with the same answer, which one of them alone has not as a replay.
func oneAnswer(t testing.TB, replies []reply) {
	t.Helper()
	ran := 0
	for _, r := range replies {
		if r.err != nil {
			t.Errorf("Do: %v", r.err)
			continue
		}
		if got, want := string(r.result.Outcome.Data), string(replies[0].result.Outcome.Data); got != want {
			t.Errorf("one was answered %q, another %q", got, want)
		}
		if !r.result.Replayed {
			ran++
		}
	}
	if ran != 1 {
		t.Errorf("%d of %d answers were not replays, want 1", ran, len(replies))
	}
}

// races has callers of several keys overlap, round by round, on o. Of the replies every key's are checked together.
func (f *fixture[Tx]) races(t *testing.T, o *onceward.Operation) {
	var runs atomic.Int64
	key := func(round, i int) string { return fmt.Sprintf("round %d key %d", round, i%raceKeys) }
	for round := range raceRounds {
		replies := f.crowd(t, raceKeys*raceCallers, func(i int) (onceward.Command, onceward.Work[Tx]) {
			return o.For(alice, key(round, i), nil), f.counts(key(round, i), &runs)
		})
		for k := range raceKeys {
			var ofKey []reply
			for i := k; i < len(replies); i += raceKeys {
				ofKey = append(ofKey, replies[i])
			}
			oneAnswer(t, ofKey)
			f.wantEffects(t, key(round, k), 1)
		}
	}
	f.wantRecords(t, raceRounds*raceKeys)
}

func racesDuplicates[Tx any](t *testing.T, f *fixture[Tx]) { f.races(t, patient) }
func racesHasty[Tx any](t *testing.T, f *fixture[Tx])      { f.races(t, hasty) }

// racesReaders: each caller is a process of its own, so that all of them read the store. One that reads, which may hold
// the claim for a moment, keeps no other from reading.
func racesReaders[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "accepted")
	stores := f.stores(t)
	for range raceRounds {
		start := make(chan struct{})
		replies := make([]reply, 2*raceCallers)
		var callers sync.WaitGroup
		for i := range replies {
			e := engineOn(t, stores[i%len(stores)], onceward.Options{MemoryBytesMax: -1})
			callers.Go(func() {
				<-start
				replies[i].result, replies[i].err = e.Do(t.Context(), c, unreachable[Tx](t))
			})
		}
		close(start)
		callers.Wait()
		for _, r := range replies {
			wantReply(t, r, "accepted", true)
		}
	}
}

func racesFailures[Tx any](t *testing.T, f *fixture[Tx]) {
	for round := range raceRounds {
		key := fmt.Sprintf("round %d", round)
		c := patient.For(alice, key, nil)
		var runs atomic.Int64
		failing := func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			err := f.Write(ctx, tx, key)
			if n := runs.Add(1); n < 4 {
				return onceward.Outcome{}, errors.Join(err, errWork)
			}
			return outcome("accepted"), err
		}
		for _, r := range f.crowd(t, raceCallers, func(int) (onceward.Command, onceward.Work[Tx]) { return c, failing }) {
			if r.err != nil {
				wantError(t, r.err, errWork)
				continue
			}
			wantAnswer(t, r.result, "accepted", r.result.Replayed)
		}
		f.untilAccepted(t, c, failing)
		f.wantEffects(t, key, 1)
	}
	f.wantRecords(t, raceRounds)
}

// untilAccepted retries c as a caller does that was told of a failure.
func (f *fixture[Tx]) untilAccepted(t testing.TB, c onceward.Command, work onceward.Work[Tx]) {
	t.Helper()
	for e := f.engine(t); ; {
		result, err := e.Do(t.Context(), c, work)
		if errors.Is(err, errWork) {
			continue
		}
		wantReply(t, reply{result, err}, "accepted", result.Replayed)
		return
	}
}

func racesMeanings[Tx any](t *testing.T, f *fixture[Tx]) {
	for round := range raceRounds {
		key := fmt.Sprintf("round %d", round)
		replies := f.crowd(t, 2*raceCallers, func(i int) (onceward.Command, onceward.Work[Tx]) {
			meaning := fmt.Sprintf("meaning %d", i/2%2)
			return patient.For(alice, key, meaning), f.writes(key, meaning)
		})
		var accepted []reply
		for i, r := range replies {
			if r.err != nil {
				wantError(t, r.err, onceward.ErrKeyReused)
				continue
			}
			accepted = append(accepted, r)
			wantAnswer(t, r.result, fmt.Sprintf("meaning %d", i/2%2), r.result.Replayed)
		}
		if len(accepted) != raceCallers {
			t.Errorf("%d callers were accepted, want the %d of one meaning", len(accepted), raceCallers)
		}
		oneAnswer(t, accepted)
		f.wantEffects(t, key, 1)
	}
}

func racesExpired[Tx any](t *testing.T, f *fixture[Tx]) {
	var runs atomic.Int64
	for round := range raceRounds {
		replies := f.crowd(t, raceCallers, func(int) (onceward.Command, onceward.Work[Tx]) {
			return hasty.For(alice, "k", nil), f.counts("k", &runs)
		})
		oneAnswer(t, replies)
		f.wantEffects(t, "k", round+1)
		f.wantRecords(t, 1)
		f.Age(t, 2*time.Hour)
	}
}

// keyDecides: another process, whose lock was lost, commits its record while the attempt runs.
func keyDecides[Tx any](t *testing.T, f *fixture[Tx]) {
	f.runs(t, hasty.For(alice, "k", "two books"), "k", "the other's")
	other := find(t, f.engine(t), hasty.For(alice, "k", "two books"))
	for _, meaning := range []string{"two books", "three books"} {
		spied := &spy[Tx]{Store: f.Store}
		h := hold(t, f, engineOn(t, spied, onceward.Options{}), hasty.For(alice, meaning, meaning), meaning, "mine")
		other.ID, other.Key, other.Life = spied.want.ID, meaning, hasty.Retention
		f.Intrude(t, other)
		r := h.end(nil)
		if meaning == "two books" {
			wantReply(t, r, "the other's", true)
		} else {
			wantError(t, r.err, onceward.ErrKeyReused)
		}
		f.wantEffects(t, meaning, 0)
	}
	f.wantRecords(t, 3)
}

// spy is a store that keeps what was claimed first.
type spy[Tx any] struct {
	onceward.Store[Tx]
	want *onceward.Record
}

func (s *spy[Tx]) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[Tx], *onceward.Record, error) {
	if s.want == nil {
		claimed := *want
		s.want = &claimed
	}
	return s.Store.Claim(ctx, want, wait)
}
