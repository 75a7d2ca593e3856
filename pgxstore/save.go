package pgxstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
)

const (
	// insertRecord is a plain insert: a record that is there is an error, which the COMMIT after it cannot outlive. The
	// attempt is null, which its column refuses, in another transaction than the one that holds the claim: a work can
	// end that by SQL and begin another. What "work" says was true before the insert took a transaction id.
	insertRecord = `WITH work AS MATERIALIZED (SELECT pg_current_xact_id_if_assigned() IS NULL AS untouched)
INSERT INTO onceward_record (id, attempt, created_at, expires_at, kept_until, fingerprint_version, operation, tenant,
	principal, key, fingerprint_raw, fingerprint, state, outcome_kind, outcome)
SELECT $1::uuid, CASE WHEN now() = $2::timestamptz THEN $3::uuid END, statement_timestamp(),
	statement_timestamp() + $4::bigint * interval '1 microsecond', statement_timestamp() + $5::bigint * interval '1 microsecond',
	$6::integer, $7::text, $8::text, $9::text, $10::text, $11::bytea, $12::bytea, 'completed', $13::text, $14::bytea
FROM work
RETURNING (SELECT untouched FROM work)`

	// deleteRecord makes room in place of the expired record that the claim read, and of no other.
	deleteRecord = `WITH work AS MATERIALIZED (SELECT pg_current_xact_id_if_assigned() IS NULL AS untouched)
DELETE FROM onceward_record USING work WHERE id = $1::uuid AND attempt = $2::uuid AND expires_at <= clock_timestamp()
RETURNING untouched`

	sameTransaction = `SELECT now() = $1::timestamptz`
)

// attempt is a transaction of the store's own that holds a claim.
type attempt struct {
	conn  *pgxpool.Conn
	hold  *hold
	tx    *tx
	claim claim
	ended bool
}

// claim is what an attempt saves.
type claim struct {
	want    *onceward.Record
	began   time.Time        // now() of the transaction that holds it
	expired *onceward.Record // to be replaced
}

func newAttempt(conn *pgxpool.Conn, inner pgx.Tx, want *onceward.Record, found *look) *attempt {
	hold := &hold{conn: conn.Conn()}
	return &attempt{
		conn:  conn,
		hold:  hold,
		tx:    &tx{inner: inner, hold: hold},
		claim: claim{want: want, began: found.began, expired: found.record},
	}
}

// Tx implements onceward.Attempt.
func (a *attempt) Tx() pgx.Tx { return a.tx }

// Save implements onceward.Attempt.
func (a *attempt) Save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	if a.ended {
		return false, errOver
	}
	a.ended = true
	if err := a.hold.release(ctx); err != nil {
		return false, a.giveUp(ctx, err)
	}
	defer leave(ctx, a.conn)
	batch := &pgx.Batch{}
	a.claim.queue(batch, o, &untouched)
	var tag pgconn.CommandTag
	batch.Queue("COMMIT").Exec(func(t pgconn.CommandTag) error {
		tag = t
		return nil
	})
	err = a.conn.SendBatch(ctx, batch).Close()
	switch {
	case tag.String() == "COMMIT": // whatever the connection did afterwards
		return untouched, nil
	case err != nil:
		return false, saveFailure(err)
	}
	return false, errAborted
}

// queue adds the statements that save the record.
func (c *claim) queue(batch *pgx.Batch, o onceward.Outcome, untouched *bool) {
	want, replaced := c.want, false
	if c.expired != nil {
		batch.Queue(deleteRecord, uuid(want.ID), uuid(c.expired.Attempt)).QueryRow(func(row pgx.Row) error {
			err := row.Scan(untouched)
			replaced = err == nil
			if errors.Is(err, pgx.ErrNoRows) { // swept
				return nil
			}
			return err
		})
	}
	if o.Data == nil {
		o.Data = []byte{}
	}
	batch.Queue(insertRecord, uuid(want.ID), c.began, uuid(want.Attempt), want.Life.Microseconds(), (want.Life + want.Keep).Microseconds(),
		int32(want.Fingerprint.Version), want.Operation, want.Scope.Tenant, want.Scope.Principal, want.Key,
		want.Fingerprint.Raw[:], want.Fingerprint.Canonical[:], o.Kind, o.Data).QueryRow(func(row pgx.Row) error {
		var before bool
		if err := row.Scan(&before); err != nil {
			return err
		}
		if !replaced {
			*untouched = before
		}
		return nil
	})
}

// Rollback implements onceward.Attempt.
func (a *attempt) Rollback(ctx context.Context) error {
	if a.ended {
		return nil
	}
	a.ended = true
	if err := a.hold.release(ctx); err != nil {
		err = a.giveUp(ctx, err)
		if errors.Is(err, onceward.ErrTxEnded) || errors.Is(err, onceward.ErrUnavailable) {
			return err
		}
		return nil // it is rolled back
	}
	defer leave(ctx, a.conn)
	same := true
	batch := &pgx.Batch{}
	batch.Queue(sameTransaction, a.claim.began).QueryRow(func(row pgx.Row) error { return row.Scan(&same) })
	batch.Queue("ROLLBACK")
	if err := a.conn.SendBatch(ctx, batch).Close(); err != nil {
		return failure("rollback", err)
	}
	if !same {
		return errRawEnd
	}
	return nil
}

// giveUp frees the connection of an attempt that can save nothing, for the given reason.
func (a *attempt) giveUp(ctx context.Context, reason error) error {
	defer leave(ctx, a.conn)
	switch {
	case errors.Is(reason, pgconn.ErrConnClosed):
		return fmt.Errorf("%w: the connection was lost during the work: %w", onceward.ErrUnavailable, reason)
	case errors.Is(reason, errRows):
		a.hold.cut(ctx)
		fallthrough
	case errors.Is(reason, errRawEnd):
		_ = a.conn.Conn().Close(ctx)
	}
	return reason
}
