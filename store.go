package onceward

import (
	"context"
	"time"
)

// Store is the seam to a database that keeps records beside the business rows. Package storetest is its specification:
// a store is right if it passes. All methods are called concurrently.
//
// A store wraps what it could not do for want of a connection or of room in ErrUnavailable. It bounds every wait by ctx
// or by its own options.
type Store[Tx any] interface {
	// Claim begins an attempt that alone holds want.ID, or returns the record that is in the way (Record.InTheWay). It
	// waits up to wait for a running attempt of another and then returns ErrInFlight. The record is read from the
	// primary by a statement that begins after the claim was won, so that a committed winner is never missed. A record
	// whose identity is not want's is ErrCollision.
	Claim(ctx context.Context, want *Record, wait time.Duration) (Attempt[Tx], *Record, error)
	// Join is Claim inside a transaction that the caller owns and ends. It does not wait. Save and Rollback of its
	// attempt end the attempt's part and leave the transaction open and usable.
	Join(ctx context.Context, tx Tx, want *Record) (Attempt[Tx], *Record, error)
	// Find reads the record of want.ID, expired or not, from the primary; nil if there is none.
	Find(ctx context.Context, want *Record) (*Record, error)
	// Sweep deletes up to limit records whose Life and Keep ended more than grace ago and returns how many it deleted.
	// It never waits for an attempt, other than for its turn where a store's attempts take turns.
	Sweep(ctx context.Context, grace time.Duration, limit int) (int, error)
	// Backlog counts, up to limit, the records whose Life and Keep have ended.
	Backlog(ctx context.Context, limit int) (Backlog, error)
}

// Backlog is what there is to sweep.
type Backlog struct {
	Records int           // whose time is over; at most the limit that was asked for
	Oldest  time.Duration // how long ago the first of them was over; 0 without any
}

// Attempt is one transaction that holds a claim. It is used by one goroutine and ends with the first Save or Rollback;
// what was handed out as Tx is dead from then on.
type Attempt[Tx any] interface {
	// Tx is what the work gets. It cannot be used to commit or to roll back.
	Tx() Tx
	// Save inserts the record with the outcome and commits. It reports whether the store knows that the work wrote
	// nothing. Its error is ErrTaken (another's record stands; rolled back), ErrCommitUnknown, or definite: rolled back.
	Save(ctx context.Context, o Outcome) (untouched bool, err error)
	// Rollback gives the claim up, and the work's rows. ErrUnavailable tells that the connection was lost, which rolls
	// back as well.
	Rollback(ctx context.Context) error
}
