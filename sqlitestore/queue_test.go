package sqlitestore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

const patience = 30 * time.Second

// until polls for what offers no signal.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

func TestQueueIsFair(t *testing.T) {
	t.Parallel()
	q := queue{lengthMax: 100}
	if err := q.take(t.Context(), patience); err != nil {
		t.Fatal(err)
	}
	var order []int // guarded by the turn
	var callers sync.WaitGroup
	for i := range 50 {
		callers.Go(func() {
			if err := q.take(t.Context(), patience); err != nil {
				t.Error(err)
				return
			}
			order = append(order, i)
			q.give()
		})
		until(t, "a caller is in the queue", func() bool { return q.length() == i+1 })
	}
	q.give()
	callers.Wait()
	if !slices.IsSorted(order) || len(order) != 50 {
		t.Errorf("the turns came in the order %v", order)
	}
}

func TestQueueBounds(t *testing.T) {
	t.Parallel()
	q := queue{lengthMax: 1}
	if err := q.take(t.Context(), patience); err != nil {
		t.Fatal(err)
	}
	if err := q.take(t.Context(), time.Millisecond); !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("no turn in time: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waited := make(chan error)
	go func() { waited <- q.take(ctx, patience) }()
	until(t, "one waits", func() bool { return q.length() == 1 })
	if err := q.take(t.Context(), patience); !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("one too many: %v", err)
	}
	cancel()
	if err := <-waited; !errors.Is(err, context.Canceled) || q.length() != 0 {
		t.Errorf("who hung up got %v, and %d wait", err, q.length())
	}
	q.give()
	if err := q.take(t.Context(), 0); err != nil {
		t.Errorf("the turn was lost with who hung up: %v", err)
	}
}

// TestQueueTurnIsNotLost: a caller hangs up in the very moment in which its turn comes.
func TestQueueTurnIsNotLost(t *testing.T) {
	t.Parallel()
	q := queue{lengthMax: 100}
	if err := q.take(t.Context(), patience); err != nil {
		t.Fatal(err)
	}
	place, err := q.enter()
	if err != nil {
		t.Fatal(err)
	}
	q.give()
	q.leave(place)
	if q.taken || q.length() != 0 {
		t.Error("the turn was lost")
	}
}

func TestQueueCloses(t *testing.T) {
	t.Parallel()
	q := queue{lengthMax: 100}
	if err := q.take(t.Context(), patience); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() { waited <- q.take(t.Context(), patience) }()
	until(t, "one waits", func() bool { return q.length() == 1 })
	closed := make(chan bool)
	go func() { closed <- q.close(patience) }()
	if err := <-waited; !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("who waited got %v", err)
	}
	if err := q.take(t.Context(), patience); !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("who came got %v", err)
	}
	q.give()
	if !<-closed {
		t.Error("close did not get the turn")
	}
}
