// Package pgxstore keeps records in PostgreSQL beside the business rows, through native pgx.
//
// An attempt is one transaction that begins and ends pipelined with what the store has to ask and to write, so that it
// needs no round trip more than the caller's own transaction would. The primary key of onceward_record decides; an
// advisory lock keeps a duplicate from running the work in vain. The tables are made by Migrate and are found by the
// connection's search_path.
//
// Behind PgBouncer in transaction mode the exec modes Exec, CacheDescribe and SimpleProtocol work: a setting, a lock or a
// savepoint of the store ends with its transaction. The default mode counts on prepared statements to last; Check tells so
// (PgBouncer 1.21 and later can keep them, max_prepared_statements, which is not tested here).
//
// A work runs at READ COMMITTED, whatever the default is, and cannot change that: lock what it reads and decides by (SELECT
// … FOR UPDATE, in one order everywhere). It is never run a second time by itself: a deadlock (SQLSTATE 40P01) rolls it back
// and is returned, which httponce answers with 503 and Retry-After. An attempt holds one connection of the pool from the
// claim to the commit; duplicates in the process hold none.
package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
	"github.com/onceward/onceward/internal/postgres"
)

// Defaults of Options.
const (
	IdleTimeoutDefault  = 60 * time.Second
	ClaimTimeoutDefault = 10 * time.Second
)

// leaveTimeout bounds a rollback that no caller waits for the end of: what has not come back by then is cut off.
const leaveTimeout = 5 * time.Second

// Options of a Store. The zero value works.
type Options struct {
	// IdleTimeout is how long an attempt's connection may be silent before the server ends it, and with it the claim: a
	// process that hangs or is cut off must not keep a key. Longer than any work is silent. Defaults to 60 s.
	IdleTimeout time.Duration
	// ClaimTimeout bounds the wait for a connection of the pool together with the first answer on it, and likewise a
	// whole Find and a whole Sweep; a shorter context stays shorter. Defaults to 10 s.
	ClaimTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.IdleTimeout == 0 {
		o.IdleTimeout = IdleTimeoutDefault
	}
	if o.ClaimTimeout == 0 {
		o.ClaimTimeout = ClaimTimeoutDefault
	}
	return o
}

func (o Options) validate() error {
	if o.IdleTimeout < 0 || o.IdleTimeout > 0 && o.IdleTimeout < time.Millisecond || o.ClaimTimeout < 0 {
		return fmt.Errorf("pgxstore: Options: the idle time-out must be a millisecond or more and the claim time-out must not be negative (idle %v, claim %v)",
			o.IdleTimeout, o.ClaimTimeout)
	}
	return nil
}

// Store is an onceward.Store on a pool, which stays the caller's to configure and to close. It is safe for concurrent
// use.
type Store struct {
	pool    *pgxpool.Pool
	options Options
	idle    string // IdleTimeout as PostgreSQL takes it
}

var _ onceward.Store[pgx.Tx] = (*Store)(nil)

// New makes a store with the default options.
func New(pool *pgxpool.Pool) *Store {
	store, _ := NewWith(pool, Options{}) // the defaults are valid
	return store
}

// NewWith makes a store.
func NewWith(pool *pgxpool.Pool, options Options) (*Store, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	return &Store{pool: pool, options: options, idle: postgres.Milliseconds(options.IdleTimeout)}, nil
}

// acquire takes a connection from the pool.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: no connection: %w", onceward.ErrUnavailable, scrub(err))
	}
	return conn, nil
}

// leave rolls back what the connection is in, also for a caller who is gone, and gives it back. The pool destroys one
// that is not in order.
func leave(ctx context.Context, conn *pgxpool.Conn) {
	defer conn.Release()
	raw := conn.Conn()
	if raw.IsClosed() || raw.PgConn().IsBusy() || raw.PgConn().TxStatus() == txIdle {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	_, _ = raw.Exec(ctx, "ROLLBACK")
}

// readRecord reads the answer to postgres.SelectRecord for the id of want; nil if there is none.
func readRecord(row pgx.Row, want *onceward.Record) (*onceward.Record, error) {
	var (
		r              = onceward.Record{ID: want.ID}
		version        int32
		raw, canonical []byte
		attempt        pgtype.UUID
		lifeMicros     int64
	)
	err := row.Scan(&r.Operation, &r.Scope.Tenant, &r.Scope.Principal, &r.Key, &version, &raw, &canonical, &r.State,
		&r.Outcome.Kind, &r.Outcome.Data, &attempt, &r.CreatedAt, &r.ExpiresAt, &lifeMicros)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	case !r.Names(want):
		return nil, onceward.ErrCollision
	}
	r.Fingerprint.Version = fingerprint.Version(version)
	copy(r.Fingerprint.Raw[:], raw)
	copy(r.Fingerprint.Canonical[:], canonical)
	r.Attempt = attempt.Bytes
	r.Life = time.Duration(lifeMicros) * time.Microsecond
	return &r, nil
}

// Find implements onceward.Store. A standby, whose answer may be old, is an error.
func (s *Store) Find(ctx context.Context, want *onceward.Record) (*onceward.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	var record *onceward.Record
	standby := false
	batch := &pgx.Batch{}
	batch.Queue(postgres.InRecovery).QueryRow(func(row pgx.Row) error { return row.Scan(&standby) })
	batch.Queue(postgres.SelectRecord, uuid(want.ID)).QueryRow(func(row pgx.Row) (err error) {
		record, err = readRecord(row, want)
		return err
	})
	switch err := conn.SendBatch(ctx, batch).Close(); {
	case err != nil:
		return nil, failure("find", err)
	case standby:
		return nil, fmt.Errorf("%w: find: the server is a standby", onceward.ErrUnavailable)
	}
	return record, nil
}

func uuid(b [16]byte) pgtype.UUID { return pgtype.UUID{Bytes: b, Valid: true} }
