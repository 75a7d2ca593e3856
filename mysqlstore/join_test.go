package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// joins takes a command through Join in tx.
func joins(t *testing.T, engine *onceward.Engine[sqlstore.Tx], tx sqlstore.Tx, key string, does func(ctx context.Context, tx sqlstore.Tx) error) error {
	t.Helper()
	_, err := onceward.Join(t.Context(), engine, tx, hasty.For(alice, key, nil), func(ctx context.Context, tx sqlstore.Tx) (string, error) {
		return "joined", does(ctx, tx)
	})
	return err
}

func effect(key string) func(ctx context.Context, tx sqlstore.Tx) error {
	return func(ctx context.Context, tx sqlstore.Tx) error { return write(ctx, tx, key) }
}

func TestJoinNeedsATransaction(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	conn, err := d.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, tx := range []sqlstore.Tx{d.db, conn} {
		if err := joins(t, newEngine(t, d.db), tx, "k", effect("k")); err == nil {
			t.Errorf("%T was joined", tx)
		}
	}
	d.wantEffects(t, "k", 0)
	d.wantRecords(t, 0)
}

// Whatever the caller's isolation level, the winner that committed after his snapshot is seen.
func TestJoinSeesTheLatestRecord(t *testing.T) {
	t.Parallel()
	for name, level := range map[string]sql.IsolationLevel{
		"read uncommitted": sql.LevelReadUncommitted, "read committed": sql.LevelReadCommitted, "repeatable read": sql.LevelRepeatableRead, "serializable": sql.LevelSerializable,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			engine := newEngine(t, d.db)
			tx, err := d.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
			if err != nil {
				t.Fatal(err)
			}
			if level == sql.LevelSerializable {
				err = execute(t.Context(), tx, "SELECT 1")
			} else {
				err = execute(t.Context(), tx, "SELECT count(*) FROM onceward_record") // its snapshot
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := onceward.Run(t.Context(), engine, hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (string, error) {
				return "the winner's", write(ctx, tx, "k")
			}); err != nil {
				t.Fatal(err)
			}
			got, err := onceward.Join(t.Context(), engine, sqlstore.Tx(tx), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (string, error) {
				return "again", write(ctx, tx, "k")
			})
			if err != nil || got != "the winner's" {
				t.Errorf("joined %q, %v", got, err)
			}
			wantError(t, tx.Commit(), nil)
			d.wantEffects(t, "k", 1)
		})
	}
}

// A joined work that ends the caller's transaction is caught; what it would have written afterwards is not written.
func TestJoinedWorkEndsTheTransaction(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec(t, "CREATE PROCEDURE committing() COMMIT")
	for name, ends := range map[string]func(ctx context.Context, outer *sql.Tx, tx sqlstore.Tx) error{
		"by a procedure": func(ctx context.Context, _ *sql.Tx, tx sqlstore.Tx) error {
			return execute(ctx, tx, "CALL committing()")
		},
		"by the caller's hand": func(_ context.Context, outer *sql.Tx, _ sqlstore.Tx) error { return outer.Commit() },
		"by the caller's hand, rolled back": func(_ context.Context, outer *sql.Tx, _ sqlstore.Tx) error {
			return outer.Rollback()
		},
	} {
		outer, err := d.db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = joins(t, newEngine(t, d.db), outer, name, func(ctx context.Context, tx sqlstore.Tx) error {
			err := ends(ctx, outer, tx)
			if write(ctx, tx, "after") == nil {
				t.Errorf("%s: a statement was sent after the end", name)
			}
			return err
		})
		if err == nil {
			t.Errorf("%s: it was taken for a success", name)
		}
		_ = outer.Rollback()
		d.wantEffects(t, "after", 0)
		if _, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, name, nil), writes(name)); err != nil {
			t.Errorf("%s: the key is stuck: %v", name, err)
		}
		d.wantEffects(t, name, 1)
	}
	d.wantRecords(t, 3)
}

// What is sent on the caller's connection beside his transaction is not seen when it is sent. It is when the record is to be
// saved.
func TestJoinedTransactionIsEndedBesideIt(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for name, texts := range map[string][]string{"committed": {"COMMIT"}, "rolled back": {"ROLLBACK"}, "begun anew": {"COMMIT", "BEGIN"}} {
		conn, err := d.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		outer, err := conn.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = joins(t, newEngine(t, d.db), outer, name, func(ctx context.Context, tx sqlstore.Tx) error {
			for _, text := range texts {
				if _, err := conn.ExecContext(ctx, text); err != nil {
					return err
				}
			}
			return nil
		})
		wantError(t, err, onceward.ErrTxEnded)
		_ = outer.Commit()
		_ = conn.Close()
		d.wantRecords(t, 0)
	}
}

// A joined work's deadlock is its caller's too: what the outer work writes afterwards would be outside of the transaction.
func TestF25_DeadlockInAJoinedWork(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	failed := deadlock(t, d, update, update, func(ctx context.Context, tx sqlstore.Tx, err error) error {
		if err == nil {
			return nil
		}
		return err
	})
	d.wantOneVictim(t, failed)

	d = newDatabase(t)
	var joined atomic.Int64
	within := func(ctx context.Context, tx sqlstore.Tx, n int) error {
		return joins(t, newEngine(t, d.db), tx, fmt.Sprint("joined ", joined.Add(1)), func(ctx context.Context, tx sqlstore.Tx) error { return update(ctx, tx, n) })
	}
	failed = deadlock(t, d, within, within, func(ctx context.Context, tx sqlstore.Tx, err error) error {
		if err != nil {
			wantError(t, err, onceward.ErrNotCommitted)
			wantError(t, write(ctx, tx, "after"), onceward.ErrNotCommitted)
		}
		return nil // it is swallowed
	})
	if len(failed) != 1 {
		t.Fatalf("%d works failed, want one: %v", len(failed), failed)
	}
	wantError(t, failed[0], onceward.ErrNotCommitted)
	d.wantEffects(t, "after", 0)
	if effects := d.effects(t, "first") + d.effects(t, "second"); effects != 1 {
		t.Errorf("%d effects, want 1", effects)
	}
	d.wantRecords(t, 3) // the one that stands, and its two joined
}

// An error of a joined work's statement takes nothing with it but what the joined work did.
func TestJoinedWorksErrorIsItsOwn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.db)
	_, err := engine.Do(t.Context(), hasty.For(alice, "outer", nil), work("outer", func(ctx context.Context, tx sqlstore.Tx) error {
		failed := joins(t, engine, tx, "fails", func(ctx context.Context, tx sqlstore.Tx) error {
			return errors.Join(write(ctx, tx, "fails"), execute(ctx, tx, "INSERT INTO nowhere VALUES (1)"))
		})
		if failed == nil {
			t.Error("the joined work's error is lost")
		}
		return errors.Join(joins(t, engine, tx, "stands", effect("stands")), write(ctx, tx, "outer"))
	}))
	wantError(t, err, nil)
	d.wantEffects(t, "outer", 2)
	d.wantEffects(t, "fails", 0)
	d.wantEffects(t, "stands", 1)
	d.wantRecords(t, 2)
}

// A command that joins itself does not run twice.
func TestJoinOfItself(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.db)
	_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), work("k", func(ctx context.Context, tx sqlstore.Tx) error {
		_ = joins(t, engine, tx, "k", effect("k"))
		return nil
	}))
	wantError(t, err, onceward.ErrNotCommitted)
	d.wantEffects(t, "k", 0)
	d.wantRecords(t, 0)
}
