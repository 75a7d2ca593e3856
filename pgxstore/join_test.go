package pgxstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
)

// joins takes a command through Join in tx.
func joins(t *testing.T, engine *onceward.Engine[pgx.Tx], tx pgx.Tx, key string, work func(ctx context.Context, tx pgx.Tx) error) error {
	t.Helper()
	_, err := onceward.Join(t.Context(), engine, tx, hasty.For(alice, key, nil), func(ctx context.Context, tx pgx.Tx) (string, error) {
		return "joined", work(ctx, tx)
	})
	return err
}

// inTx runs f in a transaction that it owns, and commits.
func (d *database) inTx(t *testing.T, f func(tx pgx.Tx)) {
	t.Helper()
	tx, commit, _ := d.begin(t)
	f(tx)
	if err := commit(); err != nil {
		t.Errorf("the caller's commit: %v", err)
	}
}

// Whatever a joined work leaves behind, the caller's transaction goes on without it.
func TestJoinedWorkLeavesTheTransactionUsable(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	for name, leave := range map[string]func(ctx context.Context, tx pgx.Tx) error{
		"an error":          func(context.Context, pgx.Tx) error { return errWork },
		"a swallowed error": func(ctx context.Context, tx pgx.Tx) error { _ = execute("SELECT 1/0")(ctx, tx); return nil },
		"a savepoint and an error": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Begin(ctx)
			return errors.Join(err, errWork)
		},
	} {
		d.inTx(t, func(tx pgx.Tx) {
			err := joins(t, engine, tx, name, func(ctx context.Context, tx pgx.Tx) error {
				return errors.Join(write(ctx, tx, name), leave(ctx, tx))
			})
			if err == nil {
				t.Errorf("%s: the join succeeded", name)
			}
			if err := write(t.Context(), tx, name+", after"); err != nil {
				t.Errorf("%s: the caller's next statement: %v", name, err)
			}
			if err := joins(t, engine, tx, name, func(ctx context.Context, tx pgx.Tx) error { return write(ctx, tx, name+", again") }); err != nil {
				t.Errorf("%s: joined again: %v", name, err)
			}
		})
		d.wantEffects(t, name, 0)
		d.wantEffects(t, name+", after", 1)
		d.wantEffects(t, name+", again", 1)
	}
}

// Rows that a joined work leaves open cannot be read past: all is rolled back, and the caller is told by his commit.
func TestJoinedWorkThatLeavesRowsOpenEndsTheTransaction(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	for key, workError := range map[string]error{"nil": nil, "an error": errWork} {
		tx, commit, _ := d.begin(t)
		err := joins(t, engine, tx, key, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Query(ctx, "SELECT generate_series(1, 1000000)")
			return errors.Join(err, workError)
		})
		if err == nil || commit() == nil {
			t.Errorf("the work returned %s: the join's error is %v, or the commit succeeded", key, err)
		}
	}
	d.wantRecords(t, 0)
	d.eventually(t, nothingIsHeld)
}

// A caller who has rows open himself is told so; trying again would not help him.
func TestJoinBehindOpenRows(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.inTx(t, func(tx pgx.Tx) {
		rows, err := tx.Query(t.Context(), "SELECT generate_series(1, 1000)")
		if err != nil {
			t.Fatal(err)
		}
		err = joins(t, newEngine(t, d.pool), tx, "k", func(ctx context.Context, tx pgx.Tx) error { return write(ctx, tx, "k") })
		if err == nil || errors.Is(err, onceward.ErrUnavailable) || !strings.Contains(err.Error(), "open") {
			t.Errorf("the error is %v", err)
		}
		rows.Close()
	})
	d.wantEffects(t, "k", 0)
}

// A joined attempt that rolled back gives its claim up at once, not when the caller's transaction ends.
func TestJoinedRollbackFreesTheClaim(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	d.inTx(t, func(tx pgx.Tx) {
		wantError(t, joins(t, engine, tx, "k", func(context.Context, pgx.Tx) error { return errWork }), errWork)
		if _, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil {
			t.Error(err)
		}
	})
	d.wantEffects(t, "k", 1)
}

func TestJoinedWorkThatEndsTheTransactionIsCaught(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	for name, end := range rawEnds {
		tx, _, _ := d.begin(t)
		err := joins(t, engine, tx, name, func(ctx context.Context, tx pgx.Tx) error {
			err := write(ctx, tx, "before")
			_ = end(ctx, tx)
			return err
		})
		wantError(t, err, onceward.ErrTxEnded)
		_ = tx.Rollback(t.Context())
	}
	d.wantRecords(t, 0)
	d.eventually(t, nothingIsHeld)
}

// Under the caller's snapshot the winner cannot be seen. The key still decides, and the transaction stays usable.
func TestJoinUnderAnOldSnapshot(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	err := pgx.BeginTxFunc(t.Context(), d.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SELECT FROM effect"); err != nil {
			return err
		}
		if _, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil {
			return err
		}
		err := joins(t, engine, tx, "k", func(ctx context.Context, tx pgx.Tx) error { return write(ctx, tx, "k") })
		wantError(t, err, onceward.ErrInFlight)
		return write(t.Context(), tx, "after")
	})
	if err != nil {
		t.Error(err)
	}
	d.wantEffects(t, "k", 1)
	d.wantEffects(t, "after", 1)
}

// Joins lie within joins within a work: each savepoint is its own attempt's.
func TestJoinsNest(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	_, err := engine.Do(t.Context(), hasty.For(alice, "1", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		err := joins(t, engine, tx, "2", func(ctx context.Context, tx pgx.Tx) error {
			wantError(t, joins(t, engine, tx, "3 fails", func(ctx context.Context, tx pgx.Tx) error {
				return errors.Join(write(ctx, tx, "3"), errWork)
			}), errWork)
			return errors.Join(write(ctx, tx, "2"), joins(t, engine, tx, "3", func(ctx context.Context, tx pgx.Tx) error { return write(ctx, tx, "3") }))
		})
		wantError(t, joins(t, engine, tx, "4 fails", func(ctx context.Context, tx pgx.Tx) error { return errors.Join(write(ctx, tx, "4"), errWork) }), errWork)
		return done, errors.Join(err, write(ctx, tx, "1"))
	})
	if err != nil {
		t.Error(err)
	}
	for key, want := range map[string]int{"1": 1, "2": 1, "3": 1, "4": 0} {
		d.wantEffects(t, key, want)
	}
	d.wantRecords(t, 3)
}

// A work's own savepoint is a caller's transaction like any other.
func TestJoinInASavepoint(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	d.inTx(t, func(tx pgx.Tx) {
		err := pgx.BeginFunc(t.Context(), tx, func(tx pgx.Tx) error {
			err := joins(t, engine, tx, "k", func(ctx context.Context, tx pgx.Tx) error { return write(ctx, tx, "k") })
			return errors.Join(err, errWork)
		})
		wantError(t, err, errWork)
	})
	d.wantRecords(t, 0)
	d.wantEffects(t, "k", 0)
}
