package pgsqltest

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// joins takes a command through Join in tx.
func joins(t *testing.T, engine *onceward.Engine[sqlstore.Tx], tx sqlstore.Tx, key string, work func(ctx context.Context, tx sqlstore.Tx) error) error {
	t.Helper()
	_, err := onceward.Join(t.Context(), engine, tx, hasty.For(alice, key, nil), func(ctx context.Context, tx sqlstore.Tx) (string, error) {
		return "joined", work(ctx, tx)
	})
	return err
}

// inTx runs f in a *sql.Tx that it owns, and commits.
func (d *database) inTx(t *testing.T, options *sql.TxOptions, f func(tx *sql.Tx)) {
	t.Helper()
	tx, err := d.db.BeginTx(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	f(tx)
	if err := tx.Commit(); err != nil {
		t.Errorf("the caller's commit: %v", err)
	}
}

// Whatever a joined work leaves behind, the caller's transaction goes on without it, and the claim is free at once.
func TestJoinedWorkLeavesTheTransactionUsable(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		engine := newEngine(t, d.db)
		for name, leave := range map[string]func(ctx context.Context, tx sqlstore.Tx) error{
			"an error":          func(context.Context, sqlstore.Tx) error { return errWork },
			"a swallowed error": func(ctx context.Context, tx sqlstore.Tx) error { _ = execute("SELECT 1/0")(ctx, tx); return nil },
			"a savepoint and an error": func(ctx context.Context, tx sqlstore.Tx) error {
				return errors.Join(execute("SAVEPOINT a")(ctx, tx), errWork)
			},
			"a raw COMMIT":   execute("COMMIT"),
			"a raw ROLLBACK": execute("ROLLBACK"),
		} {
			d.inTx(t, nil, func(tx *sql.Tx) {
				err := joins(t, engine, tx, name, func(ctx context.Context, tx sqlstore.Tx) error {
					return errors.Join(write(ctx, tx, name), leave(ctx, tx))
				})
				if err == nil {
					t.Errorf("%s: the join succeeded", name)
				}
				if err := write(t.Context(), tx, name+", after"); err != nil {
					t.Errorf("%s: the caller's next statement: %v", name, err)
				}
				if _, err := engine.Do(t.Context(), hasty.For(alice, name, nil), writes(name+", elsewhere")); err != nil {
					t.Errorf("%s: the claim is not free: %v", name, err)
				}
			})
			d.wantEffects(t, name, 0)
			d.wantEffects(t, name+", after", 1)
			d.wantEffects(t, name+", elsewhere", 1)
		}
	})
}

// Rows that a joined work leaves open may be the end of the caller's transaction, as the driver has it. Then all of it is
// rolled back; else the work is.
func TestJoinedWorkThatLeavesRowsOpenLeavesNothing(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		tx, err := d.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = joins(t, newEngine(t, d.db), tx, "k", func(ctx context.Context, tx sqlstore.Tx) error {
			_, err := tx.QueryContext(ctx, "SELECT generate_series(1, 1000000)")
			return errors.Join(write(ctx, tx, "k"), err)
		})
		committed := tx.Commit() == nil
		if stands := err == nil && committed; d.effects(t, "k") != d.records(t) || stands != (d.records(t) == 1) {
			t.Errorf("%d effects, %d records; the join: %v; committed: %t", d.effects(t, "k"), d.records(t), err, committed)
		}
		d.eventually(t, nothingIsHeld)
	})
}

// A caller who has rows open himself is told so.
func TestJoinBehindOpenRows(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		tx, err := d.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		rows, err := tx.QueryContext(t.Context(), "SELECT generate_series(1, 1000)")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = rows.Close() }()
		err = joins(t, newEngine(t, d.db), tx, "k", func(ctx context.Context, tx sqlstore.Tx) error { return write(ctx, tx, "k") })
		if err == nil || !strings.Contains(err.Error(), "open") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestJoinNeedsATransaction(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		err := joins(t, newEngine(t, d.db), d.db, "k", func(ctx context.Context, tx sqlstore.Tx) error { return write(ctx, tx, "k") })
		if err == nil || !strings.Contains(err.Error(), "pool") {
			t.Errorf("the error is %v", err)
		}
		d.wantEffects(t, "k", 0)
	})
}

// Under the caller's snapshot the winner cannot be seen. The key still decides, and the transaction stays usable.
func TestJoinUnderAnOldSnapshot(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		engine := newEngine(t, d.db)
		d.inTx(t, &sql.TxOptions{Isolation: sql.LevelRepeatableRead}, func(tx *sql.Tx) {
			if err := execute("SELECT FROM effect")(t.Context(), tx); err != nil {
				t.Error(err)
			}
			if _, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil {
				t.Error(err)
			}
			err := joins(t, engine, tx, "k", func(ctx context.Context, tx sqlstore.Tx) error { return write(ctx, tx, "k") })
			wantError(t, err, onceward.ErrInFlight)
			if err := write(t.Context(), tx, "after"); err != nil {
				t.Error(err)
			}
		})
		d.wantEffects(t, "k", 1)
		d.wantEffects(t, "after", 1)
	})
}

// Joins lie within joins within a work: each savepoint is its own attempt's.
func TestJoinsNest(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		engine := newEngine(t, d.db)
		_, err := engine.Do(t.Context(), hasty.For(alice, "1", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			err := joins(t, engine, tx, "2", func(ctx context.Context, tx sqlstore.Tx) error {
				wantError(t, joins(t, engine, tx, "3 fails", func(ctx context.Context, tx sqlstore.Tx) error {
					return errors.Join(write(ctx, tx, "3"), errWork)
				}), errWork)
				return errors.Join(write(ctx, tx, "2"), joins(t, engine, tx, "3", func(ctx context.Context, tx sqlstore.Tx) error { return write(ctx, tx, "3") }))
			})
			wantError(t, joins(t, engine, tx, "4 fails", func(ctx context.Context, tx sqlstore.Tx) error { return errors.Join(write(ctx, tx, "4"), errWork) }), errWork)
			return done, errors.Join(err, write(ctx, tx, "1"))
		})
		if err != nil {
			t.Error(err)
		}
		for key, want := range map[string]int{"1": 1, "2": 1, "3": 1, "4": 0} {
			d.wantEffects(t, key, want)
		}
		d.wantRecords(t, 3)
	})
}
