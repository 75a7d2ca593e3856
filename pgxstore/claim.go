package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/postgres"
)

// beginAttempt is postgres.Begin in pgx's words.
var beginAttempt = pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}

// look is what the first round trip found.
type look struct {
	locked bool
	began  time.Time // now() of the transaction: its mark
	record *onceward.Record
}

// stands reports whether the record found is in the way of want.
func (l *look) stands(want *onceward.Record) bool { return l.record != nil && l.record.InTheWay(want) }

// Claim implements onceward.Store.
func (s *Store) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[pgx.Tx], *onceward.Record, error) {
	limited, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	conn, err := s.acquire(limited)
	if err != nil {
		return nil, nil, err
	}
	found, tx, err := s.look(limited, conn, want)
	if err == nil && !found.locked && !found.stands(want) {
		err = s.await(ctx, conn, want, wait, found)
	}
	switch {
	case err != nil:
		s.abandon(ctx, conn, err)
		return nil, nil, failure("claim", err)
	case found.stands(want):
		leave(ctx, conn)
		return nil, found.record, nil
	}
	return newAttempt(conn, tx, want, found), nil, nil
}

// look is the first round trip. A statement that the server prepared before the schema changed is prepared anew, once.
func (s *Store) look(ctx context.Context, conn *pgxpool.Conn, want *onceward.Record) (*look, pgx.Tx, error) {
	found, tx, err := s.lookOnce(ctx, conn, want)
	if !staleStatement(pgError(err)) {
		return found, tx, err
	}
	if _, lost := conn.Exec(ctx, "ROLLBACK"); lost != nil {
		return nil, nil, errors.Join(err, lost)
	}
	return s.lookOnce(ctx, conn, want)
}

func (s *Store) lookOnce(ctx context.Context, conn *pgxpool.Conn, want *onceward.Record) (*look, pgx.Tx, error) {
	found := &look{}
	batch := &pgx.Batch{}
	batch.BeginTx(beginAttempt)
	batch.Queue(postgres.TryLock, postgres.LockKey(want.ID), s.idle).QueryRow(func(row pgx.Row) error {
		return row.Scan(&found.locked, &found.began, nil)
	})
	found.queueSelect(batch, want)
	results := conn.SendBatch(ctx, batch)
	return found, results.Tx(), results.Close()
}

// await waits for the claim of another attempt to end, in the second round trip. Cancelling it would cost the
// connection, and the server would go on waiting: so the caller who hangs up is waited for, as long as he had allowed.
func (s *Store) await(ctx context.Context, conn *pgxpool.Conn, want *onceward.Record, wait time.Duration, found *look) error {
	if wait <= 0 {
		return onceward.ErrInFlight
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait+s.options.ClaimTimeout)
	defer cancel()
	batch := &pgx.Batch{}
	batch.Queue(postgres.LimitLock, postgres.Milliseconds(wait))
	batch.Queue(postgres.AwaitLock, postgres.LockKey(want.ID))
	batch.Queue(postgres.UnlimitLock)
	found.queueSelect(batch, want)
	err := conn.SendBatch(ctx, batch).Close()
	// The server's statement_timeout may be shorter than the wait.
	if server := pgError(err); server != nil && (server.Code == postgres.LockNotAvailable || server.Code == postgres.QueryCanceled) {
		return fmt.Errorf("%w: %w", onceward.ErrInFlight, scrub(err))
	}
	return err
}

func (l *look) queueSelect(batch *pgx.Batch, want *onceward.Record) {
	batch.Queue(postgres.SelectRecord, uuid(want.ID)).QueryRow(func(row pgx.Row) (err error) {
		l.record, err = readRecord(row, want)
		return err
	})
}

// abandon gives a connection back whose claim failed. One to a server that takes no writes is closed: after a
// fail-over the next one leads to the new primary.
func (s *Store) abandon(ctx context.Context, conn *pgxpool.Conn, err error) {
	if server := pgError(err); server != nil && unavailable(server) {
		closed, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		_ = conn.Conn().Close(closed)
	}
	leave(ctx, conn)
}
