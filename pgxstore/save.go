package pgxstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/postgres"
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
	defer leave(ctx, a.conn)
	if err := a.release(ctx); err != nil {
		return false, err
	}
	batch := &pgx.Batch{}
	if !a.hold.wrote.Load() {
		batch.Queue(postgres.ReadUntouched).QueryRow(func(row pgx.Row) error { return row.Scan(&untouched) })
	}
	a.claim.queue(batch, o)
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
func (c *claim) queue(batch *pgx.Batch, o onceward.Outcome) {
	want := c.want
	if c.expired != nil {
		batch.Queue(postgres.DeleteRecord, uuid(want.ID), uuid(c.expired.Attempt))
	}
	saved := want.Saved(o)
	if saved.Outcome.Data == nil {
		saved.Outcome.Data = []byte{}
	}
	batch.Queue(postgres.InsertRecord, uuid(want.ID), c.began, uuid(want.Attempt), want.Life.Microseconds(), (want.Life + want.Keep).Microseconds(),
		int32(want.Fingerprint.Version), want.Operation, want.Scope.Tenant, want.Scope.Principal, want.Key,
		want.Fingerprint.Raw[:], want.Fingerprint.Canonical[:], string(saved.State), saved.Outcome.Kind, saved.Outcome.Data)
}

// Rollback implements onceward.Attempt.
func (a *attempt) Rollback(ctx context.Context) error {
	if a.ended {
		return nil
	}
	a.ended = true
	defer leave(ctx, a.conn)
	switch err := a.release(ctx); {
	case errors.Is(err, onceward.ErrTxEnded), errors.Is(err, onceward.ErrUnavailable):
		return err
	case err != nil:
		return nil // why nothing could be saved; it is rolled back
	}
	same := true
	batch := &pgx.Batch{}
	batch.Queue(postgres.SameTransaction, a.claim.began).QueryRow(func(row pgx.Row) error { return row.Scan(&same) })
	batch.Queue("ROLLBACK")
	if err := a.conn.SendBatch(ctx, batch).Close(); err != nil {
		return failure("rollback", err)
	}
	if !same {
		return errRawEnd
	}
	return nil
}

// release takes the connection back from the work and says why nothing can be saved on it, if so. A connection that is
// not as a work should leave it is closed, which rolls back.
func (a *attempt) release(ctx context.Context) error {
	if a.hold.close() {
		a.hold.cut(ctx)
		select {
		case <-a.hold.over: // a statement does not go on for long on a connection that is cut
		case <-ctx.Done(): // what feeds a CopyFrom may
		}
		return errRunning
	}
	err := a.hold.verdict()
	switch {
	case errors.Is(err, errRows):
		a.hold.cut(ctx)
		fallthrough
	case errors.Is(err, errRawEnd):
		_ = a.conn.Conn().Close(ctx)
	}
	return err
}
