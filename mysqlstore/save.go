package mysqlstore

import (
	"context"
	"errors"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// attempt is a transaction of the store's own that holds a claim.
type attempt struct {
	conn    *conn
	session *session
	tx      *workTx
	want    onceward.Record
	ended   bool
}

func newAttempt(c *conn, want *onceward.Record) *attempt {
	session := newSession(c.Conn, want)
	return &attempt{conn: c, session: session, tx: session.guard(), want: *want}
}

// Tx implements onceward.Attempt.
func (a *attempt) Tx() sqlstore.Tx { return a.tx }

// Save implements onceward.Attempt. It is one round trip where the connection takes several statements in one.
func (a *attempt) Save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	if a.ended {
		return false, errOver
	}
	if err := a.end(ctx); err != nil {
		a.giveUp(ctx, err)
		return false, err
	}
	if err := a.save(ctx, o); err != nil {
		a.conn.leave(ctx)
		return false, saveFailure(err)
	}
	a.conn.release()
	return !a.session.wrote, nil
}

// save saves and commits. Another node of a cluster may abort the transaction at any moment. Within a text of several
// statements the server can then go on with the COMMIT as if nothing had happened, and report a success; a statement of its own
// is told. So COMMIT comes alone there, behind the one that has found the claim.
func (a *attempt) save(ctx context.Context, o onceward.Outcome) error {
	if !a.conn.cluster {
		_, err := a.conn.send(ctx, saveRecord(&a.want, o), checkSaved, commit)
		return err
	}
	if _, err := a.conn.send(ctx, restore); err != nil {
		return err
	}
	rows, err := a.conn.send(ctx, saveRecord(&a.want, o))
	if err == nil && rows != 1 {
		return errNotSaved
	}
	if err == nil {
		_, err = a.conn.send(ctx, commit)
	}
	return err
}

// Rollback implements onceward.Attempt.
func (a *attempt) Rollback(ctx context.Context) error {
	if a.ended {
		return nil
	}
	err := a.end(ctx)
	a.giveUp(ctx, err)
	switch {
	case errors.Is(err, onceward.ErrTxEnded), errors.Is(err, onceward.ErrUnavailable):
		return err
	case err == nil && a.conn.discard:
		return errLost
	}
	return nil // why nothing could be saved; it is rolled back
}

// end takes the transaction back from the work and says why nothing can be saved in it, if so.
func (a *attempt) end(ctx context.Context) error {
	a.ended = true
	return a.session.end(ctx, a.tx)
}

// giveUp rolls back. What a work has committed by itself holds the claim, which is taken away.
func (a *attempt) giveUp(ctx context.Context, why error) {
	if errors.Is(why, onceward.ErrTxEnded) {
		if _, err := a.conn.send(ctx, rollback, deleteClaim(&a.want)); err != nil {
			a.conn.discard = true // the claim is in nobody's way, and is swept
		}
	}
	a.conn.leave(ctx)
}
