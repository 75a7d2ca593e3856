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

// look is what a claim found.
type look struct {
	locked bool
	began  time.Time // now() of the transaction: its mark
	record *onceward.Record
}

// stands reports whether the record found is in the way of want.
func (l *look) stands(want *onceward.Record) bool { return l.record != nil && l.record.InTheWay(want) }

// Claim implements onceward.Store.
func (s *Store) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[sqlstore.Tx], *onceward.Record, error) {
	limited, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	conn, found, err := s.look(limited, want)
	if err != nil {
		return nil, nil, err
	}
	if !found.locked && !found.stands(want) {
		err = s.await(ctx, conn, want, wait, found)
	}
	switch {
	case err != nil:
		abandon(ctx, conn, err)
		return nil, nil, failure(ctx, "claim", err)
	case found.stands(want):
		leave(ctx, conn)
		return nil, found.record, nil
	}
	return newAttempt(conn, want, found), nil, nil
}

// look begins the transaction, tries the lock and reads the record. A statement that the driver prepared before the
// schema changed is prepared anew, once.
func (s *Store) look(ctx context.Context, want *onceward.Record) (*sql.Conn, *look, error) {
	for again := false; ; again = true {
		conn, err := s.begin(ctx, "claim", postgres.BeginAndTryLock(want.ID, s.options.IdleTimeout))
		if err != nil {
			return nil, nil, err
		}
		found := &look{}
		found.record, err = scanRecord(conn.QueryRowContext(ctx, postgres.SelectClaim, uuid(want.ID)), want, &found.locked, &found.began)
		if err == nil {
			return conn, found, nil
		}
		abandon(ctx, conn, err)
		if again || !postgres.StaleStatement(sqlState(err)) {
			return nil, nil, failure(ctx, "claim", err)
		}
	}
}

// begin sends begin, which begins a transaction. The pool may hold connections to a server that has gone since, or is a
// standby now; no more than those are tried in vain.
func (s *Store) begin(ctx context.Context, step, begin string) (*sql.Conn, error) {
	for left := s.db.Stats().Idle; ; left-- {
		conn, err := s.acquire(ctx)
		if err != nil {
			return nil, err
		}
		if _, err = conn.ExecContext(ctx, begin); err == nil {
			return conn, nil
		}
		discard(conn)
		if err = failure(ctx, step, err); left <= 0 || !errors.Is(err, onceward.ErrUnavailable) || ctx.Err() != nil {
			return nil, err
		}
	}
}

// await waits for the claim of another attempt to end. Cancelling it would cost the connection, and the server could go
// on waiting: so the caller who hangs up is waited for, as long as he had allowed.
func (s *Store) await(ctx context.Context, conn *sql.Conn, want *onceward.Record, wait time.Duration, found *look) error {
	if wait <= 0 {
		return onceward.ErrInFlight
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait+s.options.ClaimTimeout)
	defer cancel()
	if _, err := conn.ExecContext(ctx, postgres.LimitLock, postgres.Milliseconds(wait)); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, postgres.AwaitLock, postgres.LockKey(want.ID))
	// The server's statement_timeout may be shorter than the wait.
	if code := sqlState(err); code == postgres.LockNotAvailable || code == postgres.QueryCanceled {
		return fmt.Errorf("%w: %w", onceward.ErrInFlight, scrub(err))
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, postgres.UnlimitLock)
	}
	if err == nil {
		found.record, err = readRecord(ctx, conn, want)
	}
	return err
}

// abandon gives a connection back whose claim failed. One to a server that is going or takes no writes is closed: after a
// fail-over the next one leads to the new primary.
func abandon(ctx context.Context, conn *sql.Conn, err error) {
	if code := sqlState(err); postgres.Unavailable(code) && !postgres.StaleStatement(code) {
		discard(conn)
		return
	}
	leave(ctx, conn)
}
