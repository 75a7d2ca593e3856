// Package memstore keeps records in the process's memory. It is the executable specification of onceward.Store, small
// enough to be read in one go, and what users' unit tests run on. Nothing survives the process, so it guards nothing in
// production.
package memstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Store is an onceward.Store in memory, for concurrent use.
type Store[Tx any] struct {
	// Now is the store's clock; set it before the first use. Defaults to time.Now.
	Now func() time.Time

	begin func() Tx

	mu      sync.Mutex
	records map[onceward.ID]*onceward.Record
	held    map[onceward.ID]chan struct{} // closed when the attempt that holds the claim has ended
}

// New makes an empty store, whose attempts hand out what begin returns: a fake, or a transaction of its own. If that
// has pgx.Tx's Commit and Rollback methods, which take a context and return an error, the attempt's end calls them.
func New[Tx any](begin func() Tx) *Store[Tx] {
	return &Store[Tx]{
		Now:     time.Now,
		begin:   begin,
		records: map[onceward.ID]*onceward.Record{},
		held:    map[onceward.ID]chan struct{}{},
	}
}

// Claim implements onceward.Store.
func (s *Store[Tx]) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[Tx], *onceward.Record, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		attempt, record, busy, err := s.claim(want)
		if err != nil || busy == nil {
			return attempt, record, err
		}
		if wait <= 0 {
			return nil, nil, onceward.ErrInFlight
		}
		select {
		case <-busy:
		case <-timer.C:
			return nil, nil, onceward.ErrInFlight
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// claim wins the claim, or returns the record in the way, or what to wait for.
func (s *Store[Tx]) claim(want *onceward.Record) (onceward.Attempt[Tx], *onceward.Record, chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record, err := s.read(want)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case record != nil && record.InTheWay(want):
		return nil, record, nil, nil
	case s.held[want.ID] != nil:
		return nil, nil, s.held[want.ID], nil
	}
	s.held[want.ID] = make(chan struct{})
	return &attempt[Tx]{store: s, want: *want, tx: s.begin(), owned: true}, nil, nil, nil
}

// read returns a copy of the record of want with what is left of its life. The caller holds s.mu.
func (s *Store[Tx]) read(want *onceward.Record) (*onceward.Record, error) {
	stored := s.records[want.ID]
	if stored == nil {
		return nil, nil
	}
	if !stored.Names(want) {
		return nil, onceward.ErrCollision
	}
	record := *stored
	record.Life = record.ExpiresAt.Sub(s.Now())
	return &record, nil
}

// Join implements onceward.Store. The record stands from the attempt's Save on: this store cannot see how the caller's
// transaction ends.
func (s *Store[Tx]) Join(_ context.Context, tx Tx, want *onceward.Record) (onceward.Attempt[Tx], *onceward.Record, error) {
	held, record, busy, err := s.claim(want)
	if busy != nil {
		return nil, nil, onceward.ErrInFlight
	}
	if err != nil || record != nil {
		return nil, record, err
	}
	joined := held.(*attempt[Tx])
	joined.tx, joined.owned = tx, false
	return joined, nil, nil
}

// Find implements onceward.Store.
func (s *Store[Tx]) Find(_ context.Context, want *onceward.Record) (*onceward.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read(want)
}

// Sweep implements onceward.Store.
func (s *Store[Tx]) Sweep(_ context.Context, grace time.Duration, limit int) (deleted int, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	for id, record := range s.records {
		if deleted == limit {
			break
		}
		if record.ExpiresAt.Add(record.Keep).Add(grace).Before(now) {
			delete(s.records, id)
			deleted++
		}
	}
	return deleted, nil
}

// Backlog implements onceward.Store.
func (s *Store[Tx]) Backlog(_ context.Context, limit int) (left onceward.Backlog, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Now()
	for _, record := range s.records {
		if over := now.Sub(record.ExpiresAt.Add(record.Keep)); over > 0 {
			left.Records = min(left.Records+1, limit)
			left.Oldest = max(left.Oldest, over)
		}
	}
	return left, nil
}

// attempt holds the claim of want until it ends.
type attempt[Tx any] struct {
	store *Store[Tx]
	want  onceward.Record
	tx    Tx
	owned bool // the transaction is the store's to end
	ended bool
}

// Tx implements onceward.Attempt.
func (a *attempt[Tx]) Tx() Tx { return a.tx }

// Save implements onceward.Attempt.
func (a *attempt[Tx]) Save(ctx context.Context, o onceward.Outcome) (bool, error) {
	if a.ended {
		return false, onceward.ErrTxEnded
	}
	defer a.release()
	if tx, ok := any(a.tx).(interface{ Commit(context.Context) error }); ok && a.owned {
		if err := tx.Commit(ctx); err != nil {
			return false, errors.Join(err, a.rollbackTx(ctx))
		}
	}
	record := a.want.Saved(o)
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	record.CreatedAt = a.store.Now()
	record.ExpiresAt = record.CreatedAt.Add(record.Life)
	a.store.records[record.ID] = record
	return false, nil
}

// Rollback implements onceward.Attempt.
func (a *attempt[Tx]) Rollback(ctx context.Context) error {
	if a.ended {
		return nil
	}
	defer a.release()
	return a.rollbackTx(ctx)
}

func (a *attempt[Tx]) rollbackTx(ctx context.Context) error {
	if tx, ok := any(a.tx).(interface{ Rollback(context.Context) error }); ok && a.owned {
		return tx.Rollback(ctx)
	}
	return nil
}

func (a *attempt[Tx]) release() {
	a.ended = true
	a.store.mu.Lock()
	defer a.store.mu.Unlock()
	close(a.store.held[a.want.ID])
	delete(a.store.held, a.want.ID)
}
