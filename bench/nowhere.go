package bench

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// Nowhere is a store that grants every claim and keeps nothing, so that what is measured is the engine and what stands
// before it. Its transaction is nothing either.
type Nowhere struct{}

// NoTx is a transaction of Nowhere.
type NoTx struct{}

// Claim implements onceward.Store.
func (Nowhere) Claim(context.Context, *onceward.Record, time.Duration) (onceward.Attempt[NoTx], *onceward.Record, error) {
	return noAttempt{}, nil, nil
}

// Join implements onceward.Store.
func (Nowhere) Join(context.Context, NoTx, *onceward.Record) (onceward.Attempt[NoTx], *onceward.Record, error) {
	return noAttempt{}, nil, nil
}

// Find implements onceward.Store.
func (Nowhere) Find(context.Context, *onceward.Record) (*onceward.Record, error) { return nil, nil }

// Sweep implements onceward.Store.
func (Nowhere) Sweep(context.Context, time.Duration, int) (int, error) { return 0, nil }

// Backlog implements onceward.Store.
func (Nowhere) Backlog(context.Context, int) (onceward.Backlog, error) {
	return onceward.Backlog{}, nil
}

type noAttempt struct{}

// Tx implements onceward.Attempt.
func (noAttempt) Tx() NoTx { return NoTx{} }

// Save implements onceward.Attempt.
func (noAttempt) Save(context.Context, onceward.Outcome) (bool, error) { return false, nil }

// Rollback implements onceward.Attempt.
func (noAttempt) Rollback(context.Context) error { return nil }
