package pgxstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/postgres"
)

const cancelPart = postgres.CancelPart + "; " + postgres.KeepPart

// Join implements onceward.Store. The claim lies within a savepoint: where the attempt rolls back, the lock goes too.
func (s *Store) Join(ctx context.Context, outer pgx.Tx, want *onceward.Record) (onceward.Attempt[pgx.Tx], *onceward.Record, error) {
	if conn := outer.Conn(); conn != nil && conn.PgConn().IsBusy() {
		return nil, nil, errBusy
	}
	found := &look{}
	batch := &pgx.Batch{}
	batch.Queue(postgres.BeginPart)
	batch.Queue(postgres.JoinLock, postgres.LockKey(want.ID)).QueryRow(func(row pgx.Row) error { return row.Scan(&found.locked, &found.began) })
	found.queueSelect(batch, want)
	err := outer.SendBatch(ctx, batch).Close()
	joined := newJoined(outer, want, found)
	switch {
	case err != nil && pgError(err) == nil && !errors.Is(err, onceward.ErrCollision):
		return nil, nil, failure("join", err)
	case err != nil:
		return nil, nil, errors.Join(failure("join", err), joined.cancel(ctx))
	case found.stands(want):
		return nil, found.record, joined.cancel(ctx)
	case !found.locked:
		return nil, nil, errors.Join(onceward.ErrInFlight, joined.cancel(ctx))
	}
	return joined, nil, nil
}

// joined is an attempt in a transaction that the caller owns.
type joined struct {
	outer pgx.Tx
	hold  *hold
	tx    *tx
	claim claim
	ended bool
}

func newJoined(outer pgx.Tx, want *onceward.Record, found *look) *joined {
	hold := &hold{conn: outer.Conn()}
	return &joined{
		outer: outer,
		hold:  hold,
		tx:    &tx{inner: outer, hold: hold},
		claim: claim{want: want, began: found.began, expired: found.record},
	}
}

// Tx implements onceward.Attempt.
func (j *joined) Tx() pgx.Tx { return j.tx }

// Save implements onceward.Attempt. Whether the work wrote is not known: the caller may have written before.
func (j *joined) Save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	if j.ended {
		return false, errOver
	}
	j.ended = true
	if err := j.release(ctx); err != nil {
		return false, errors.Join(err, j.cancel(ctx))
	}
	batch := &pgx.Batch{}
	j.claim.queue(batch, o)
	batch.Queue(postgres.KeepPart)
	switch err := j.outer.SendBatch(ctx, batch).Close(); {
	case err == nil:
		return false, nil
	case pgError(err) == nil:
		return false, failure("save", err)
	default:
		return false, errors.Join(insertFailure(pgError(err)), j.cancel(ctx))
	}
}

// Rollback implements onceward.Attempt.
func (j *joined) Rollback(ctx context.Context) error {
	if j.ended {
		return nil
	}
	j.ended = true
	err := j.release(ctx)
	if errors.Is(err, onceward.ErrTxEnded) || errors.Is(err, onceward.ErrUnavailable) {
		return err
	}
	return j.cancel(ctx)
}

// release takes the transaction back from the work and says why nothing can be saved in it, if so. The connection is
// the caller's: a call that still runs is waited for. Rows that are left open are the end of the transaction, as the
// caller learns from his next statement: the driver cannot go on behind them.
func (j *joined) release(ctx context.Context) error {
	if !j.hold.close() {
		return j.hold.verdict()
	}
	select {
	case <-j.hold.over:
		return errRunning
	case <-ctx.Done():
		return errors.Join(errRunning, ctx.Err())
	}
}

// cancel takes the attempt's part out of the caller's transaction, which is usable again then.
func (j *joined) cancel(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if _, err := j.outer.Exec(ctx, cancelPart, pgx.QueryExecModeSimpleProtocol); err != nil {
		return failure("rollback", err)
	}
	return nil
}
