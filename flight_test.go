package onceward_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
)

// In these tests time stands still until all goroutines wait; synctest.Wait returns when they do.

// stands is a work that stands still until end is sent.
func stands(end chan error) onceward.Work[*tx] {
	return func(ctx context.Context, tx *tx) (onceward.Outcome, error) {
		select {
		case err := <-end:
			outcome, _ := says("the leader's")(ctx, tx)
			return outcome, err
		case <-ctx.Done():
			return onceward.Outcome{}, ctx.Err()
		}
	}
}

// follow begins n duplicates of c and returns when all of them wait.
func follow(t *testing.T, e *onceward.Engine[*tx], n int, c onceward.Command, work onceward.Work[*tx]) (replies []chan reply) {
	t.Helper()
	for range n {
		replies = append(replies, begin(t.Context(), e, c, work))
	}
	synctest.Wait()
	return replies
}

// grounded has no trace of a flight remain: F32.
func grounded(t *testing.T, e *onceward.Engine[*tx]) {
	t.Helper()
	synctest.Wait()
	if flights := e.Flights(); flights != 0 {
		t.Errorf("F32: %d flights remain", flights)
	}
}

func TestFollowersGetTheLeadersRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, end := newProbe(), make(chan error)
		e, c := newEngine(t, store, onceward.Options{}), patient.For(alice, "k", nil)
		first := begin(t.Context(), e, c, stands(end))
		synctest.Wait()
		followers := follow(t, e, 50, c, never(t))
		wantCount(t, "claims while all wait", store.claims.Load(), 1)
		end <- nil
		(<-first).wants(t, "the leader's", false)
		for _, f := range followers {
			(<-f).wants(t, "the leader's", true)
		}
		wantCount(t, "claims", store.claims.Load(), 1)
		grounded(t, e)
	})
}

func TestFollowersShareTheLeadersFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, end := newProbe(), make(chan error)
		e, c := newEngine(t, store, onceward.Options{}), patient.For(alice, "k", nil)
		first := begin(t.Context(), e, c, stands(end))
		synctest.Wait()
		followers := follow(t, e, 20, c, never(t))
		end <- errWork
		(<-first).fails(t, errWork)
		for _, f := range followers {
			(<-f).fails(t, errWork)
		}
		grounded(t, e)
		do(t.Context(), e, c, says("the retry's")).wants(t, "the retry's", false)
	})
}

func TestFollowersOfAPanicAreTold(t *testing.T) {
	for name, stop := range map[string]func(){"panic": func() { panic(errWork) }, "Goexit": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			e, c := newEngine(t, newProbe(), onceward.Options{}), patient.For(alice, "k", nil)
			go func() {
				defer func() { _ = recover() }()
				_ = do(t.Context(), e, c, func(context.Context, *tx) (onceward.Outcome, error) {
					<-release
					stop()
					return onceward.Outcome{}, nil
				})
			}()
			synctest.Wait()
			followers := follow(t, e, 3, c, never(t))
			close(release)
			for _, f := range followers {
				r := <-f
				r.fails(t, onceward.ErrAborted)
				if wrapped := (*onceward.Error)(nil); !errors.As(r.err, &wrapped) || wrapped.ID == "" {
					t.Errorf("%s: the error does not name the command: %v", name, r.err)
				}
			}
			grounded(t, e)
		})
	}
}

// A leader that hung up says nothing about the others: one of them takes over, and only one.
func TestOneFollowerTakesOverFromALeaderThatHungUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, hangUp := context.WithCancel(t.Context())
		e, c := newEngine(t, newProbe(), onceward.Options{}), patient.For(alice, "k", nil)
		first := begin(ctx, e, c, stands(nil))
		synctest.Wait()
		var runs atomic.Int64
		followers := follow(t, e, 20, c, func(ctx context.Context, tx *tx) (onceward.Outcome, error) {
			runs.Add(1)
			return says("the follower's")(ctx, tx)
		})
		hangUp()
		(<-first).fails(t, context.Canceled)
		replays := 0
		for _, f := range followers {
			r := <-f
			r.wants(t, "the follower's", r.result.Replayed)
			if r.result.Replayed {
				replays++
			}
		}
		wantCount(t, "runs", runs.Load(), 1)
		wantCount(t, "replays", int64(replays), 19)
		grounded(t, e)
	})
}

func TestAnotherMeaningIsRefusedAfterSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan error)
		e := newEngine(t, newProbe(), onceward.Options{})
		first := begin(t.Context(), e, patient.For(alice, "k", "two books"), stands(end))
		synctest.Wait()
		followers := follow(t, e, 3, patient.For(alice, "k", "three books"), never(t))
		end <- nil
		(<-first).wants(t, "the leader's", false)
		for _, f := range followers {
			(<-f).fails(t, onceward.ErrKeyReused)
		}
		grounded(t, e)
	})
}

// F06: a wrong first request that rolls back does not refuse the right one.
func TestF06AnotherMeaningTakesOverAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan error)
		e := newEngine(t, newProbe(), onceward.Options{})
		first := begin(t.Context(), e, patient.For(alice, "k", "a wrong request"), stands(end))
		synctest.Wait()
		same := follow(t, e, 1, patient.For(alice, "k", "a wrong request"), never(t))
		right := follow(t, e, 3, patient.For(alice, "k", "the right one"), says("accepted"))
		end <- errWork
		(<-first).fails(t, errWork)
		(<-same[0]).fails(t, errWork)
		for _, f := range right {
			r := <-f
			r.wants(t, "accepted", r.result.Replayed)
		}
		grounded(t, e)
	})
}

func TestWhoDoesNotWaitIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, end := newProbe(), make(chan error)
		e := newEngine(t, store, onceward.Options{})
		first := begin(t.Context(), e, hasty.For(alice, "k", "two books"), stands(end))
		synctest.Wait()
		began := time.Now()
		do(t.Context(), e, hasty.For(alice, "k", "two books"), never(t)).fails(t, onceward.ErrInFlight)
		do(t.Context(), e, hasty.For(alice, "k", "three books"), never(t)).fails(t, onceward.ErrKeyReused)
		if took := time.Since(began); took != 0 {
			t.Errorf("they waited %v", took)
		}
		wantCount(t, "claims", store.claims.Load(), 1)
		end <- nil
		(<-first).wants(t, "the leader's", false)
		grounded(t, e)
	})
}

// Where a record stands, the leader only reads it: who does not wait for an attempt still gets the answer.
func TestWhoDoesNotWaitFollowsALeaderThatReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, c := newProbe(), hasty.For(alice, "k", nil)
		do(t.Context(), newEngine(t, store, onceward.Options{}), c, says("accepted")).wants(t, "accepted", false)
		read := make(chan struct{})
		store.onClaim = func(int64) error {
			<-read
			return nil
		}
		fresh := newEngine(t, store, onceward.Options{})
		callers := follow(t, fresh, 10, c, never(t))
		close(read)
		for _, caller := range callers {
			(<-caller).wants(t, "accepted", true)
		}
		wantCount(t, "claims", store.claims.Load(), 2)
		grounded(t, fresh)
	})
}

func TestFollowerWaitsAsLongAsItsOperationSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan error)
		e, c := newEngine(t, newProbe(), onceward.Options{}), patient.For(alice, "k", nil)
		first := begin(t.Context(), e, c, stands(end))
		synctest.Wait()
		began := time.Now()
		do(t.Context(), e, c, never(t)).fails(t, onceward.ErrInFlight)
		if took := time.Since(began); took != patient.Wait {
			t.Errorf("it waited %v, want %v", took, patient.Wait)
		}
		end <- nil
		(<-first).wants(t, "the leader's", false)
		grounded(t, e)
	})
}

// The attempt is another process's. The leader's time is up before that of a duplicate that came later, which goes on.
func TestFollowerOutlastsALeaderWhoseTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, end := newProbe(), make(chan error)
		other, e, c := newEngine(t, store, onceward.Options{}), newEngine(t, store, onceward.Options{}), patient.For(alice, "k", nil)
		first := begin(t.Context(), other, c, stands(end))
		synctest.Wait()
		leader := begin(t.Context(), e, c, never(t))
		time.Sleep(patient.Wait / 2)
		follower := begin(t.Context(), e, c, never(t))
		(<-leader).fails(t, onceward.ErrInFlight)
		synctest.Wait()
		end <- nil
		(<-first).wants(t, "the leader's", false)
		(<-follower).wants(t, "the leader's", true)
		grounded(t, e)
	})
}

func TestFollowerThatHangsUpLeavesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan error)
		e, c := newEngine(t, newProbe(), onceward.Options{}), patient.For(alice, "k", nil)
		first := begin(t.Context(), e, c, stands(end))
		synctest.Wait()
		ctx, hangUp := context.WithCancel(t.Context())
		follower := begin(ctx, e, c, never(t))
		synctest.Wait()
		hangUp()
		(<-follower).fails(t, context.Canceled)
		end <- nil
		(<-first).wants(t, "the leader's", false)
		grounded(t, e)
	})
}

func TestFollowersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		end := make(chan error)
		e := newEngine(t, newProbe(), onceward.Options{FollowersMax: most})
		briefly := *patient
		briefly.Wait = time.Second
		c := briefly.For(alice, "k", nil)
		first := begin(t.Context(), e, c, stands(end))
		synctest.Wait()
		for range 2 { // those whose time was up make room for others
			followers := follow(t, e, most, c, never(t))
			began := time.Now()
			do(t.Context(), e, c, never(t)).fails(t, onceward.ErrInFlight)
			if took := time.Since(began); took != 0 || e.Followers() != most {
				t.Errorf("one more than %d waited %v; %d follow", most, took, e.Followers())
			}
			for _, f := range followers {
				(<-f).fails(t, onceward.ErrInFlight)
			}
			if took := time.Since(began); took != briefly.Wait {
				t.Errorf("the followers waited %v, want %v", took, briefly.Wait)
			}
		}
		end <- nil
		(<-first).wants(t, "the leader's", false)
		grounded(t, e)
	})
}

// Hot keys in disorder: callers come and hang up, works fail, panic and succeed, and nothing remains.
func TestF32NoFlightRemains(t *testing.T) {
	store := newProbe()
	e := newEngine(t, store, onceward.Options{MemoryBytesMax: -1, FollowersMax: 5})
	replies := make(chan error)
	const callers = 400
	for i := range callers {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*time.Millisecond)
			defer cancel()
			var err error
			defer func() {
				_ = recover()
				replies <- err
			}()
			o := []*onceward.Operation{hasty, patient}[i%2]
			_, err = e.Do(ctx, o.For(alice, fmt.Sprint("key ", i%5), i%3), func(ctx context.Context, tx *tx) (onceward.Outcome, error) {
				switch i % 4 {
				case 0:
					panic(errWork)
				case 1:
					return onceward.Outcome{}, errWork
				case 2:
					<-ctx.Done()
				}
				return says("ok")(ctx, tx)
			})
		}()
	}
	for range callers {
		<-replies
	}
	if flights := e.Flights(); flights != 0 {
		t.Errorf("F32: %d flights remain", flights)
	}
}
