package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// joined is an attempt inside a transaction that the caller owns: a savepoint of it.
type joined struct {
	inner   sqlstore.Tx // the transaction itself
	alone   func(f func() error) error
	session *session
	tx      *workTx
	want    onceward.Record
	ended   bool
}

// Join implements onceward.Store. The transaction is that of a work of this store, or the caller's own, a *sql.Tx for example.
// There the caller himself could still end it in the joined work: that is seen, and answered with ErrTxEnded.
func (s *Store) Join(ctx context.Context, tx sqlstore.Tx, want *onceward.Record) (onceward.Attempt[sqlstore.Tx], *onceward.Record, error) {
	j := &joined{inner: tx, alone: func(f func() error) error { return f() }, want: *want}
	switch outer := tx.(type) {
	case *workTx:
		j.inner, j.alone = outer.session.inner, outer.alone
	case *sql.DB, *sql.Conn:
		return nil, nil, errors.New("mysqlstore: Join needs a transaction: outside of one each statement commits by itself")
	}
	j.session = newSession(j.inner, &j.want)
	var record *onceward.Record
	err := j.alone(func() (err error) {
		record, err = j.begin(ctx)
		return err
	})
	if err != nil || record != nil {
		return nil, record, failure("join", err)
	}
	j.tx = j.session.guard()
	return j, nil, nil
}

// alone runs f while no statement of the work runs.
func (t *workTx) alone(f func() error) error {
	return t.Guard.Alone(func(sqlstore.Tx) error {
		t.session.mu.Lock()
		defer t.session.mu.Unlock()
		if err := t.session.verify(t.session.hard); err != nil {
			return err
		}
		t.session.wrote, t.session.look = true, true // what the joined work's statements do is not seen here
		return f()
	})
}

// begin sets the savepoints and claims: a record in the way ends the part again.
func (j *joined) begin(ctx context.Context) (*onceward.Record, error) {
	if err := j.exec(ctx, "SAVEPOINT "+j.session.mark, "SAVEPOINT "+j.alive()); err != nil {
		return nil, err
	}
	record, err := j.claim(ctx)
	if err == nil && record == nil {
		return nil, nil
	}
	return record, errors.Join(err, j.undo(ctx))
}

// alive is a second savepoint, inside the first. To release it tells whether the transaction is still the caller's, before
// anything is saved that would commit by itself if it were not.
func (j *joined) alive() string { return j.session.mark + "_alive" }

func (j *joined) claim(ctx context.Context) (*onceward.Record, error) {
	err := j.exec(ctx, insertClaim(&j.want))
	if numberOf(err) != codeDuplicate {
		return nil, inFlight(err)
	}
	record, err := readRecord(ctx, j.inner, &j.want, selectStanding(j.want.ID))
	switch {
	case err != nil:
		return nil, err
	case record != nil && stands(record, &j.want):
		return record, nil
	}
	return nil, inFlight(j.one(ctx, takeRecord(&j.want), onceward.ErrInFlight))
}

// one has a statement change exactly one row.
func (j *joined) one(ctx context.Context, statement string, otherwise error) error {
	result, err := j.inner.ExecContext(ctx, statement)
	if err != nil {
		return err
	}
	if rows, err := result.RowsAffected(); err != nil || rows != 1 {
		return errors.Join(otherwise, err)
	}
	return nil
}

func (j *joined) exec(ctx context.Context, statements ...string) error {
	for _, statement := range statements {
		if _, err := j.inner.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// undo takes the attempt's part out of the caller's transaction, which is usable again then. That the savepoint is gone means
// that the transaction has ended.
func (j *joined) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	return gone(j.exec(ctx, "ROLLBACK TO SAVEPOINT "+j.session.mark, "RELEASE SAVEPOINT "+j.session.mark))
}

func gone(err error) error {
	if numberOf(err) == codeNoSavepoint {
		return fmt.Errorf("%w: %w", errRawEnd, err)
	}
	return err
}

// Tx implements onceward.Attempt.
func (j *joined) Tx() sqlstore.Tx { return j.tx }

// Save implements onceward.Attempt. Whether the work wrote is not told: the caller may have written before.
func (j *joined) Save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	if j.ended {
		return false, errOver
	}
	err = j.end(ctx)
	if err == nil {
		err = j.alone(func() error { return j.save(ctx, o) })
	}
	if err != nil {
		return false, j.fail(ctx, failure("save", err))
	}
	return false, nil
}

func (j *joined) save(ctx context.Context, o onceward.Outcome) error {
	if err := gone(j.exec(ctx, "RELEASE SAVEPOINT "+j.alive())); err != nil {
		return err
	}
	if err := j.one(ctx, saveRecord(&j.want, o), errNotSaved); err != nil {
		return err
	}
	return gone(j.exec(ctx, "RELEASE SAVEPOINT "+j.session.mark))
}

// fail takes back what of the attempt is left after err.
func (j *joined) fail(ctx context.Context, err error) error {
	if errors.Is(err, onceward.ErrTxEnded) {
		_ = j.exec(ctx, deleteClaim(&j.want)) // where it fails, the claim is in nobody's way, and is swept
		return err
	}
	return errors.Join(err, j.alone(func() error { return j.undo(ctx) }))
}

// Rollback implements onceward.Attempt.
func (j *joined) Rollback(ctx context.Context) error {
	if j.ended {
		return nil
	}
	if err := j.end(ctx); errors.Is(err, onceward.ErrTxEnded) || errors.Is(err, onceward.ErrUnavailable) {
		return j.fail(ctx, err)
	}
	return j.alone(func() error { return j.undo(ctx) })
}

func (j *joined) end(ctx context.Context) error {
	j.ended = true
	return j.session.end(ctx, j.tx)
}
