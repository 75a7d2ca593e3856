package sqlitestore

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// queue hands out the one turn at the writer, first come, first served. Who waits holds nothing but a place in it.
type queue struct {
	lengthMax int

	mu      sync.Mutex
	taken   bool
	closed  bool
	waiting list.List // of chan error: what the wait ended with, nil for the turn
}

// take waits for the turn, at most for limit; ctx ends the wait too. Who gets nil has the turn and gives it back.
func (q *queue) take(ctx context.Context, limit time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	place, err := q.enter()
	if place == nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-place.Value.(chan error):
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = fmt.Errorf("%w: no turn at the SQLite writer within %v", onceward.ErrUnavailable, limit)
	}
	q.leave(place)
	return err
}

// enter takes the turn at once (a nil place and a nil error) or a place in the queue.
func (q *queue) enter() (*list.Element, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return nil, errClosed
	case !q.taken:
		q.taken = true
		return nil, nil
	case q.waiting.Len() >= q.lengthMax:
		return nil, fmt.Errorf("%w: %d callers wait for the SQLite writer already", onceward.ErrUnavailable, q.lengthMax)
	}
	return q.waiting.PushBack(make(chan error, 1)), nil
}

// leave gives up a place. The turn may have come in the same moment: then it is passed on.
func (q *queue) leave(place *list.Element) {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case err := <-place.Value.(chan error):
		if err == nil {
			q.next()
		}
	default:
		q.waiting.Remove(place)
	}
}

// give ends the turn.
func (q *queue) give() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next()
}

func (q *queue) next() {
	first := q.waiting.Front()
	if first == nil {
		q.taken = false
		return
	}
	q.waiting.Remove(first)
	first.Value.(chan error) <- nil
}

// close refuses all who wait, and all who come, and waits for who has the turn, at most for limit. It reports whether
// the turn is the closer's now.
func (q *queue) close(limit time.Duration) bool {
	last := make(chan error, 1)
	q.mu.Lock()
	q.closed = true
	for first := q.waiting.Front(); first != nil; first = q.waiting.Front() {
		q.waiting.Remove(first)
		first.Value.(chan error) <- errClosed
	}
	if !q.taken {
		q.taken = true
		last <- nil
	} else {
		q.waiting.PushBack(last)
	}
	q.mu.Unlock()
	select {
	case err := <-last:
		return err == nil
	case <-time.After(limit):
		return false
	}
}

// length is how many wait.
func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting.Len()
}
