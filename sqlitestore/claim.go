package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

const (
	table = "onceward_record"

	// now is the one clock: SQLite's on the machine of the file, in milliseconds since 1970, the same throughout a statement.
	now = "CAST(round(unixepoch('subsec') * 1000) AS INTEGER)"

	findSQL = "SELECT " + sqlstore.Columns + ", (expires_at - " + now + ") * 1000, (kept_until - expires_at) * 1000, " +
		"created_at * 1000, expires_at * 1000 FROM main." + table + " WHERE id = ?"
)

// Claim implements onceward.Store. The writer's turn is the claim; a caller waits for it after it has won its command
// against the other callers of this process, at most Options.QueueTimeout.
func (s *Store) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[sqlstore.Tx], *onceward.Record, error) {
	for deadline := time.Now().Add(wait); ; {
		// A record that stands already is answered past the queue.
		if record, err := s.Find(ctx, want); err != nil || record != nil && record.InTheWay(want) {
			return nil, record, err
		}
		busy := s.claims.take(want.ID)
		if busy == nil {
			break
		}
		if err := await(ctx, busy, time.Until(deadline)); err != nil {
			return nil, nil, err
		}
	}
	a, record, err := s.claim(ctx, want)
	if a == nil {
		s.claims.give(want.ID)
		return nil, record, err
	}
	return a, nil, nil
}

// Find implements onceward.Store.
func (s *Store) Find(ctx context.Context, want *onceward.Record) (*onceward.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // a look by the primary key: to watch a context costs as much as it does
	statement, err := s.finder(ctx)
	if err != nil {
		return nil, explain(err)
	}
	return found(sqlstore.Scan(statement.QueryRowContext(ctx, want.ID[:])))(want)
}

// finder is the statement that reads a record, prepared when there is a schema: to compile it takes longer than to run it.
func (s *Store) finder(ctx context.Context) (*sql.Stmt, error) {
	if statement := s.find.Load(); statement != nil {
		return statement, nil
	}
	statement, err := s.records.PrepareContext(ctx, findSQL)
	if err == nil && !s.find.CompareAndSwap(nil, statement) {
		_ = statement.Close()
		statement = s.find.Load()
	}
	return statement, err
}

// found judges what was read for want: nil if there is none.
func found(record *onceward.Record, err error) func(want *onceward.Record) (*onceward.Record, error) {
	return func(want *onceward.Record) (*onceward.Record, error) {
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil, nil
		case err != nil:
			return nil, explain(err)
		case !record.Names(want):
			return nil, onceward.ErrCollision
		}
		return record, nil
	}
}

// claim takes the turn, begins the transaction and reads again, now that nobody else can write.
func (s *Store) claim(ctx context.Context, want *onceward.Record) (_ *attempt, record *onceward.Record, err error) {
	if err := s.take(ctx); err != nil {
		return nil, nil, err
	}
	w := s.writer
	if err := w.begin(ctx); err != nil {
		s.queue.give()
		return nil, nil, err
	}
	ctx = context.WithoutCancel(ctx) // short statements that wait for nothing
	a := &attempt{store: s, writer: w, want: *want}
	record, err = found(sqlstore.Scan(w.row(ctx, findSQL, want.ID[:])))(want)
	if err == nil {
		err = explain(w.row(ctx, "SELECT total_changes()").Scan(&a.changes))
	}
	if err != nil || record != nil && record.InTheWay(want) {
		w.rollback()
		s.queue.give()
		return nil, record, err
	}
	a.replaces = record != nil
	a.session = newSession(s, w)
	a.tx = a.session.guard()
	w.working.Store(true)
	return a, nil, nil
}
