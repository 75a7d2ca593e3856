package pgsqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/postgres"
	"github.com/onceward/onceward/sqlstore"
)

// Join implements onceward.Store. The claim lies within a savepoint: where the attempt rolls back, the lock goes too.
func (s *Store) Join(ctx context.Context, outer sqlstore.Tx, want *onceward.Record) (onceward.Attempt[sqlstore.Tx], *onceward.Record, error) {
	if _, pool := outer.(*sql.DB); pool {
		return nil, nil, errPool
	}
	if _, err := outer.ExecContext(ctx, postgres.BeginPart); err != nil {
		return nil, nil, joinFailure(ctx, err)
	}
	found := &look{}
	err := outer.QueryRowContext(ctx, postgres.JoinLock, postgres.LockKey(want.ID)).Scan(&found.locked, &found.began)
	if err == nil {
		found.record, err = readRecord(ctx, outer, want)
	}
	j := newJoined(outer, want, found)
	switch {
	case err != nil:
		return nil, nil, errors.Join(joinFailure(ctx, err), j.cancel(ctx))
	case found.stands(want):
		return nil, found.record, j.cancel(ctx)
	case !found.locked:
		return nil, nil, errors.Join(onceward.ErrInFlight, j.cancel(ctx))
	}
	return j, nil, nil
}

// joined is an attempt in a transaction that the caller owns.
type joined struct {
	outer   sqlstore.Tx
	session *session
	claim   claim
	ended   bool
}

func newJoined(outer sqlstore.Tx, want *onceward.Record, found *look) *joined {
	return &joined{outer: outer, session: newSession(outer), claim: claim{want: want, began: found.began, expired: found.record}}
}

// Tx implements onceward.Attempt.
func (j *joined) Tx() sqlstore.Tx { return j.session.guard }

// Save implements onceward.Attempt. Whether the work wrote is not known: the caller may have written before.
func (j *joined) Save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	if j.ended {
		return false, errOver
	}
	j.ended = true
	if j.session.end(ctx, false) {
		return false, errors.Join(errRunning, j.cancel(ctx))
	}
	if _, err := j.claim.save(ctx, j.outer, o); err != nil {
		return false, errors.Join(insertFailure(ctx, err), j.cancel(ctx))
	}
	if _, err := j.outer.ExecContext(ctx, postgres.KeepPart); err != nil {
		return false, failure(ctx, "save", err)
	}
	return false, nil
}

// Rollback implements onceward.Attempt.
func (j *joined) Rollback(ctx context.Context) error {
	if j.ended {
		return nil
	}
	j.ended = true
	j.session.end(ctx, false)
	return j.cancel(ctx)
}

// cancel takes the attempt's part out of the caller's transaction, which is usable again then.
func (j *joined) cancel(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	for _, statement := range []string{postgres.CancelPart, postgres.KeepPart} {
		if _, err := j.outer.ExecContext(ctx, statement); err != nil {
			return failure(ctx, "rollback", err)
		}
	}
	return nil
}

// joinFailure is failure for a transaction of the caller's, on which no driver sends anything behind rows that are open.
func joinFailure(ctx context.Context, err error) error {
	if sqlState(err) == "" && !errors.Is(err, onceward.ErrCollision) {
		err = fmt.Errorf("the transaction takes no statement; if rows of it are open, close them first: %w", err)
	}
	return failure(ctx, "join", err)
}
