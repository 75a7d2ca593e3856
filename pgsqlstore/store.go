// Package pgsqlstore keeps records in PostgreSQL beside the business rows, for services whose database is a *sql.DB. It
// imports no driver: pgx's stdlib and lib/pq are tested, and others will do whose errors have a method SQLState() string.
//
// Its records are those of pgxstore: one table, one protocol, and a command that one of them has carried out is replayed
// by the other. pgxstore is faster: it begins and ends an attempt pipelined with the caller's own statements, whereas
// database/sql sends one statement at a time. An attempt has four round trips of its own here (begin and lock, read; insert,
// commit), two more than a transaction of yours, and a replay three. lib/pq sends a statement with parameters in several,
// unless its connection string has binary_parameters=yes.
//
// A work gets a sqlstore.Tx, which sqlc, GORM and ent accept as they do a *sql.Tx. Savepoints are SQL: SAVEPOINT x,
// ROLLBACK TO x, RELEASE x. A statement that would end the transaction (COMMIT, ROLLBACK and their kin) is refused; a
// CREATE FUNCTION with an SQL-standard body, whose END looks like one, as well. The tables are made by Migrate and are
// found by the connection's search_path.
//
// Behind PgBouncer in transaction mode it works where the driver does not count on prepared statements to last: lib/pq, and
// pgx with default_query_exec_mode=exec; Check tells. Your own statements outside a transaction may need lib/pq's
// binary_parameters=yes there.
package pgsqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/postgres"
	"github.com/onceward/onceward/sqlstore"
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
	// ClaimTimeout bounds the wait for a connection of the pool together with the claim on it, and likewise a whole Find
	// and a whole Sweep; a shorter context stays shorter. Defaults to 10 s.
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
		return fmt.Errorf("pgsqlstore: Options: the idle time-out must be a millisecond or more and the claim time-out must not be negative (idle %v, claim %v)",
			o.IdleTimeout, o.ClaimTimeout)
	}
	return nil
}

// Store is an onceward.Store on a pool, which stays the caller's to configure and to close. It is safe for concurrent
// use.
type Store struct {
	db      *sql.DB
	options Options
}

var _ onceward.Store[sqlstore.Tx] = (*Store)(nil)

// New makes a store with the default options.
func New(db *sql.DB) *Store {
	store, _ := NewWith(db, Options{}) // the defaults are valid
	return store
}

// NewWith makes a store.
func NewWith(db *sql.DB, options Options) (*Store, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Store{db: db, options: options.withDefaults()}, nil
}

// acquire takes a connection from the pool.
func (s *Store) acquire(ctx context.Context) (*sql.Conn, error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: no connection: %w", onceward.ErrUnavailable, scrub(err))
	}
	return conn, nil
}

// leave rolls back what the connection is in, also for a caller who is gone, and gives it back. One that does not roll
// back is closed, which does.
func leave(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		discard(conn)
		return
	}
	_ = conn.Close()
}

// Find implements onceward.Store. A standby, whose answer may be old, is an error: it refuses to begin. Each statement of
// the store lies within a transaction, so that lib/pq finds what it has prepared behind a pooler too.
func (s *Store) Find(ctx context.Context, want *onceward.Record) (*onceward.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	conn, err := s.begin(ctx, "find", postgres.Begin)
	if err != nil {
		return nil, err
	}
	defer leave(ctx, conn)
	record, err := readRecord(ctx, conn, want)
	if err != nil {
		return nil, failure(ctx, "find", err)
	}
	return record, nil
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readRecord reads the record of want's id; nil if there is none.
func readRecord(ctx context.Context, db querier, want *onceward.Record) (*onceward.Record, error) {
	return scanRecord(db.QueryRowContext(ctx, postgres.SelectRecord, uuid(want.ID)), want)
}

// scanRecord reads a row of postgres.SelectRecord behind the columns of before. Without a record they are null.
func scanRecord(row *sql.Row, want *onceward.Record, before ...any) (*onceward.Record, error) {
	var (
		r              = onceward.Record{ID: want.ID}
		raw, canonical []byte
		attempt        uuid
		lifeMicros     int64
	)
	err := row.Scan(append(before,
		orZero(&r.Operation), orZero(&r.Scope.Tenant), orZero(&r.Scope.Principal), orZero(&r.Key), orZero(&r.Fingerprint.Version),
		&raw, &canonical, orZero(&r.State), orZero(&r.Outcome.Kind), &r.Outcome.Data, &attempt,
		orZero(&r.CreatedAt), orZero(&r.ExpiresAt), orZero(&lifeMicros))...)
	switch {
	case errors.Is(err, sql.ErrNoRows), err == nil && r.State == "":
		return nil, nil
	case err != nil:
		return nil, err
	case !r.Names(want):
		return nil, onceward.ErrCollision
	}
	copy(r.Fingerprint.Raw[:], raw)
	copy(r.Fingerprint.Canonical[:], canonical)
	r.Attempt = onceward.Token(attempt)
	r.Life = time.Duration(lifeMicros) * time.Microsecond
	return &r, nil
}
