package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// Store is an onceward.Store on a pool, which stays the caller's to configure and to close. It is safe for concurrent
// use.
type Store struct {
	db      *sql.DB
	options Options
	met     atomic.Pointer[server] // what the first use has learnt
}

var _ onceward.Store[sqlstore.Tx] = (*Store)(nil)

// New makes a store with the default options.
func New(db *sql.DB) *Store {
	store, _ := NewWith(db, Options{}) // the defaults are valid
	return store
}

// NewWith makes a store. It sends nothing: Check does.
func NewWith(db *sql.DB, options Options) (*Store, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Store{db: db, options: options.withDefaults()}, nil
}

// Find implements onceward.Store. A server that takes no writes, whose answer may be old, is an error.
func (s *Store) Find(ctx context.Context, want *onceward.Record) (*onceward.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	c, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer c.release()
	record, err := c.read(ctx, want, selectRecord(want.ID))
	switch {
	case err != nil:
		return nil, failure("find", err)
	case record != nil && record.State == onceward.StateRunning:
		return nil, nil // what a work left that committed by itself: nobody's
	}
	return record, nil
}

// acquire takes a connection from the pool.
func (s *Store) acquire(ctx context.Context) (*conn, error) {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: no connection: %w", onceward.ErrUnavailable, scrub(err))
	}
	met, err := s.meet(ctx, c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &conn{Conn: c, multi: met.multi, cluster: met.cluster}, nil
}

// microseconds is d as SQL has it.
func microseconds(d time.Duration) string {
	return fmt.Sprintf("INTERVAL %d MICROSECOND", d.Microseconds())
}
