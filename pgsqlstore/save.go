package pgsqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/postgres"
	"github.com/onceward/onceward/sqlstore"
)

// attempt is a transaction of the store's own that holds a claim.
type attempt struct {
	conn    *sql.Conn
	session *session
	claim   claim
	ended   bool
}

// claim is what an attempt saves.
type claim struct {
	want    *onceward.Record
	began   time.Time        // now() of the transaction that holds it
	expired *onceward.Record // to be replaced
}

func newAttempt(conn *sql.Conn, want *onceward.Record, found *look) *attempt {
	return &attempt{conn: conn, session: newSession(conn), claim: claim{want: want, began: found.began, expired: found.record}}
}

// Tx implements onceward.Attempt.
func (a *attempt) Tx() sqlstore.Tx { return a.session.guard }

// Save implements onceward.Attempt.
func (a *attempt) Save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	if a.ended {
		return false, errOver
	}
	a.ended = true
	if untouched, err = a.save(ctx, o); err != nil {
		leave(ctx, a.conn)
		return false, err
	}
	if _, err := a.conn.ExecContext(ctx, "COMMIT"); err != nil {
		discard(a.conn)
		return false, commitFailure(ctx, err)
	}
	_ = a.conn.Close()
	return untouched, nil
}

func (a *attempt) save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	if a.session.end(ctx, true) {
		return false, errRunning
	}
	if untouched, err = a.claim.save(ctx, a.conn, o); err != nil {
		return false, insertFailure(ctx, err)
	}
	return untouched, nil
}

// save inserts the record. Whether the work wrote is read with it, or before, where an expired record is deleted first.
func (c *claim) save(ctx context.Context, tx sqlstore.Tx, o onceward.Outcome) (untouched bool, err error) {
	want, before := c.want, false
	if c.expired != nil {
		if err := tx.QueryRowContext(ctx, postgres.ReadUntouched).Scan(&before); err != nil {
			return false, err
		}
		if _, err := tx.ExecContext(ctx, postgres.DeleteRecord, uuid(want.ID), uuid(c.expired.Attempt)); err != nil {
			return false, err
		}
	}
	saved := want.Saved(o)
	if saved.Outcome.Data == nil {
		saved.Outcome.Data = []byte{}
	}
	err = tx.QueryRowContext(ctx, postgres.InsertAndTell, uuid(want.ID), c.began, uuid(want.Attempt), want.Life.Microseconds(), (want.Life + want.Keep).Microseconds(),
		int64(want.Fingerprint.Version), want.Operation, want.Scope.Tenant, want.Scope.Principal, want.Key,
		want.Fingerprint.Raw[:], want.Fingerprint.Canonical[:], string(saved.State), saved.Outcome.Kind, saved.Outcome.Data).Scan(&untouched)
	return untouched || before, err
}

// Rollback implements onceward.Attempt.
func (a *attempt) Rollback(ctx context.Context) error {
	if a.ended {
		return nil
	}
	a.ended = true
	defer leave(ctx, a.conn)
	if a.session.end(ctx, true) {
		return nil // its connection is cut, which rolls back
	}
	var same bool
	switch err := a.conn.QueryRowContext(ctx, postgres.SameTransaction, a.claim.began).Scan(&same); {
	case sqlState(err) == postgres.Aborted:
		return nil
	case err != nil:
		return failure(ctx, "rollback", err)
	case !same:
		return errRawEnd
	}
	return nil
}
