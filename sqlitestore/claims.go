package sqlitestore

import (
	"context"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// claims are the commands that attempts of this process hold, the queued ones included. The writer's turn alone keeps two
// attempts apart; this is what tells a contender for the same command from one that merely has to queue.
type claims struct {
	mu   sync.Mutex
	held map[onceward.ID]chan struct{} // closed when the claim is free again
}

// take holds id, or returns what to wait for.
func (c *claims) take(id onceward.ID) (busy <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if busy := c.held[id]; busy != nil {
		return busy
	}
	if c.held == nil {
		c.held = map[onceward.ID]chan struct{}{}
	}
	c.held[id] = make(chan struct{})
	return nil
}

func (c *claims) holds(id onceward.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[id] != nil
}

func (c *claims) give(id onceward.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.held[id])
	delete(c.held, id)
}

// await waits until busy is closed.
func await(ctx context.Context, busy <-chan struct{}, wait time.Duration) error {
	if wait <= 0 {
		return onceward.ErrInFlight
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-busy:
		return nil
	case <-timer.C:
		return onceward.ErrInFlight
	case <-ctx.Done():
		return ctx.Err()
	}
}
