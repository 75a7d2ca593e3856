package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// joins joins a work with one effect under key.
func joins(ctx context.Context, t testing.TB, store *sqlitestore.Store, tx sqlstore.Tx, key string, work func(ctx context.Context, tx sqlstore.Tx) error) error {
	t.Helper()
	_, err := onceward.Join(ctx, engineOn(t, store, onceward.Options{}), tx, place.For(caller, key, nil), func(ctx context.Context, tx sqlstore.Tx) (string, error) {
		err := write(ctx, tx, key)
		if err == nil && work != nil {
			err = work(ctx, tx)
		}
		return key, err
	})
	return err
}

// TestJoinTakesTheLock: a transaction that began deferred reads nothing old.
func TestJoinTakesTheLock(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	deferred, err := sql.Open("sqlite", uri(path)+"?_busy_timeout=20")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = deferred.Close() }()
	tx, err := deferred.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM effect").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := engineOn(t, store, onceward.Options{}).Do(t.Context(), place.For(caller, "k", nil), writes("k")); err != nil {
		t.Fatal(err)
	}
	_, err = onceward.Join(t.Context(), engineOn(t, store, onceward.Options{}), sqlstore.Tx(tx), place.For(caller, "k", nil), func(context.Context, sqlstore.Tx) (string, error) {
		return "", errors.New("it ran behind the times")
	})
	if !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("a join behind the times: %v, want ErrUnavailable", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if tx, err = deferred.BeginTx(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := joins(t.Context(), t, store, tx, "j", nil); err != nil {
		t.Errorf("a join in a fresh transaction: %v", err)
	}
	outsider := make(chan error)
	go func() {
		_, err := engineOn(t, store, onceward.Options{}).Do(t.Context(), place.For(caller, "j", nil), writes("j"))
		outsider <- err
	}()
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-outsider; err != nil && !errors.Is(err, onceward.ErrUnavailable) {
		t.Error(err)
	}
	if effects(t, path, "k") != 1 || effects(t, path, "j") != 1 || records(t, path) != 2 {
		t.Errorf("effects: k %d, j %d; %d records", effects(t, path, "k"), effects(t, path, "j"), records(t, path))
	}
}

// TestJoinIsRefusedWhileAnotherRuns: at once, and the caller's transaction is still usable.
func TestJoinIsRefusedWhileAnotherRuns(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	end := hold(t, store, "k")
	deferred, err := sql.Open("sqlite", uri(path)+"?_busy_timeout=30000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = deferred.Close() }()
	tx, err := deferred.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := joins(t.Context(), t, store, tx, "k", nil); !errors.Is(err, onceward.ErrInFlight) {
		t.Errorf("a join while the holder runs: %v, want ErrInFlight", err)
	}
	if err := end(nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(t.Context(), tx, "after"), tx.Commit()); err != nil {
		t.Error(err)
	}
	if effects(t, path, "k") != 1 || effects(t, path, "after") != 1 {
		t.Errorf("effects: k %d, after %d", effects(t, path, "k"), effects(t, path, "after"))
	}
}

// TestJoinedWorkEndsTheCallersTransaction: on a connection of the caller's it cannot be refused, but it is seen.
func TestJoinedWorkEndsTheCallersTransaction(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{"COMMIT", "ROLLBACK", "COMMIT; BEGIN IMMEDIATE", "ROLLBACK; BEGIN IMMEDIATE"} {
		store, path := fresh(t, sqlitestore.Options{})
		tx, err := connect(t, path).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = joins(t.Context(), t, store, tx, "k", func(ctx context.Context, tx sqlstore.Tx) error { return execute(ctx, tx, statement) })
		if !errors.Is(err, onceward.ErrTxEnded) {
			t.Errorf("%s: %v, want ErrTxEnded", statement, err)
		}
		_ = tx.Rollback()
		if records(t, path) != 0 {
			t.Errorf("%s: a record was left", statement)
		}
	}
}

// TestJoinInAWork: on the writer the same is refused, and the joined work shares the outer work's fate.
func TestJoinInAWork(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	engine := engineOn(t, store, onceward.Options{})
	err := engine.Once(t.Context(), place.For(caller, "outer", nil), func(ctx context.Context, tx sqlstore.Tx) error {
		if err := write(ctx, tx, "outer"); err != nil {
			return err
		}
		var leaked sqlstore.Tx
		if err := joins(ctx, t, store, tx, "inner", func(ctx context.Context, tx sqlstore.Tx) error {
			leaked = tx
			for _, statement := range []string{"COMMIT", "ROLLBACK", "RELEASE onceward_"} {
				if err := execute(ctx, tx, statement); !errors.Is(err, onceward.ErrTxEnded) {
					t.Errorf("%s in a joined work: %v", statement, err)
				}
			}
			return joins(ctx, t, store, tx, "innermost", nil)
		}); err != nil {
			t.Errorf("inner: %v", err)
		}
		if err := write(ctx, leaked, "leaked"); !errors.Is(err, onceward.ErrTxEnded) {
			t.Errorf("the joined work's transaction after it: %v", err)
		}
		if err := joins(ctx, t, store, tx, "failed", func(context.Context, sqlstore.Tx) error { return errWork }); !errors.Is(err, errWork) {
			t.Errorf("failed: %v", err)
		}
		if err := joins(ctx, t, store, tx, "outer", nil); !errors.Is(err, onceward.ErrInFlight) {
			t.Errorf("a work that joins itself: %v", err)
		}
		// Elsewhere a joined command is in flight until the transaction ends.
		if err := engineOn(t, store, onceward.Options{}).Once(ctx, place.For(caller, "inner", nil), nil); !errors.Is(err, onceward.ErrInFlight) {
			t.Errorf("a contender for a joined command: %v", err)
		}
		if err := joins(ctx, t, store, tx, "failed", nil); err != nil {
			t.Errorf("a second try: %v", err)
		}
		return write(ctx, tx, "outer")
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int{"outer": 2, "inner": 1, "innermost": 1, "failed": 1, "leaked": 0} {
		if got := effects(t, path, key); got != want {
			t.Errorf("%d effects under %s, want %d", got, key, want)
		}
	}
	if got := records(t, path); got != 4 {
		t.Errorf("%d records, want 4", got)
	}
}

// TestJoinInALostWork: what is joined after SQLite has ended the transaction does not become one of its own.
func TestJoinInALostWork(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	err := engineOn(t, store, onceward.Options{}).Once(t.Context(), place.For(caller, "outer", nil), func(ctx context.Context, tx sqlstore.Tx) error {
		_ = execute(ctx, tx, "INSERT OR ROLLBACK INTO singular VALUES ('a'), ('a')")
		if err := joins(ctx, t, store, tx, "inner", nil); !errors.Is(err, onceward.ErrTxEnded) {
			t.Errorf("the join: %v", err)
		}
		return nil
	})
	if !errors.Is(err, onceward.ErrTxEnded) || records(t, path) != 0 || effects(t, path, "inner") != 0 {
		t.Errorf("%v, %d records, %d effects", err, records(t, path), effects(t, path, "inner"))
	}
}

func TestJoinRefuses(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	if err := joins(t.Context(), t, store, connect(t, path), "k", nil); err == nil {
		t.Error("a pool was joined")
	}
	other, _ := fresh(t, sqlitestore.Options{})
	err := engineOn(t, other, onceward.Options{}).Once(t.Context(), place.For(caller, "k", nil), func(ctx context.Context, tx sqlstore.Tx) error {
		return joins(ctx, t, store, tx, "k", nil)
	})
	if err == nil {
		t.Error("the transaction of another store was joined")
	}
}
