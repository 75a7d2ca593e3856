package pgxstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/pgxstore"
)

// rawEnds are ways to end a transaction past the store. After those that chain, the connection is in a transaction again.
var rawEnds = map[string]func(ctx context.Context, tx pgx.Tx) error{
	"COMMIT":             execute("COMMIT"),
	"COMMIT AND CHAIN":   execute("COMMIT AND CHAIN"),
	"ROLLBACK":           execute("ROLLBACK"),
	"ROLLBACK AND CHAIN": execute("ROLLBACK AND CHAIN"),
	"COMMIT; BEGIN":      execute("COMMIT; BEGIN", pgx.QueryExecModeSimpleProtocol),
	"COMMIT, BEGIN": func(ctx context.Context, tx pgx.Tx) error {
		return errors.Join(execute("COMMIT")(ctx, tx), execute("BEGIN")(ctx, tx))
	},
	"COMMIT and BEGIN in a batch": func(ctx context.Context, tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue("COMMIT")
		batch.Queue("BEGIN")
		return tx.SendBatch(ctx, batch).Close()
	},
	"COMMIT as a query": func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "COMMIT")
		rows.Close()
		return err
	},
	"COMMIT as a row": func(ctx context.Context, tx pgx.Tx) error { return tx.QueryRow(ctx, "COMMIT").Scan() },
	"COMMIT in a savepoint": func(ctx context.Context, tx pgx.Tx) error {
		return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return execute("COMMIT")(ctx, tx) })
	},
	"COMMIT and BEGIN on the connection": func(ctx context.Context, tx pgx.Tx) error {
		_, first := tx.Conn().Exec(ctx, "COMMIT")
		_, second := tx.Conn().Exec(ctx, "BEGIN")
		return errors.Join(first, second)
	},
}

func execute(sql string, args ...any) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	}
}

func TestWorkThatEndsItsTransactionIsCaught(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	for name, end := range rawEnds {
		for result, workError := range map[string]error{"nil": nil, "an error": errWork} {
			key := name + ", " + result
			work := func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
				if err := write(ctx, tx, key); err != nil {
					t.Error(key, err)
				}
				_ = end(ctx, tx)
				_ = write(ctx, tx, key+", after")
				return done, workError
			}
			_, err := engine.Do(t.Context(), hasty.For(alice, key, nil), work)
			if wantError(t, err, onceward.ErrTxEnded); errors.Is(err, onceward.ErrNotCommitted) {
				t.Errorf("%s: the error claims that nothing remains: %v", key, err)
			}
			d.wantEffects(t, key+", after", 0)
			want := 0
			if strings.HasPrefix(name, "COMMIT") {
				want = 1 // cannot be taken back
			}
			d.wantEffects(t, key, want)
			d.wantRecords(t, 0)
		}
	}
	d.eventually(t, nothingIsHeld)
	if _, err := engine.Do(t.Context(), hasty.For(alice, "another", nil), writes("another")); err != nil {
		t.Errorf("the pool does not work any more: %v", err)
	}
}

func TestStatementAfterARawEndIsNotSent(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	_, err := newEngine(t, d.pool).Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		_, err := tx.Exec(ctx, "COMMIT")
		wantError(t, err, onceward.ErrTxEnded)
		_, err = tx.Exec(ctx, "INSERT INTO effect VALUES ('k')")
		wantError(t, err, onceward.ErrTxEnded)
		_, err = tx.Query(ctx, "INSERT INTO effect VALUES ('k')")
		wantError(t, err, onceward.ErrTxEnded)
		wantError(t, tx.QueryRow(ctx, "INSERT INTO effect VALUES ('k')").Scan(), onceward.ErrTxEnded)
		batch := &pgx.Batch{}
		batch.Queue("INSERT INTO effect VALUES ('k')")
		wantError(t, tx.SendBatch(ctx, batch).Close(), onceward.ErrTxEnded)
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"effect"}, []string{"key"}, pgx.CopyFromRows([][]any{{"k"}}))
		wantError(t, err, onceward.ErrTxEnded)
		_, err = tx.Begin(ctx)
		wantError(t, err, onceward.ErrTxEnded)
		_, err = tx.Prepare(ctx, "s", "SELECT 1")
		wantError(t, err, onceward.ErrTxEnded)
		return done, nil
	})
	wantError(t, err, onceward.ErrTxEnded)
	d.wantEffects(t, "k", 0)
}

func TestF23AbortedTransactionIsNeverQueriedOn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		if err := write(ctx, tx, "k"); err != nil {
			return done, err
		}
		_, _ = tx.Exec(ctx, "SELECT 1/0")
		return done, nil
	})
	if wantError(t, err, onceward.ErrNotCommitted); !strings.Contains(err.Error(), "savepoint") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	d.wantEffects(t, "k", 0)
	d.wantRecords(t, 0)
	_, err = engine.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		if err := write(ctx, tx, "k"); err != nil {
			return done, err
		}
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return errors.Join(write(ctx, tx, "undone"), execute("SELECT 1/0")(ctx, tx)) })
		if err == nil {
			t.Error("the savepoint reported no error")
		}
		return done, pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return write(ctx, tx, "k") })
		})
	})
	if err != nil {
		t.Errorf("savepoints: %v", err)
	}
	d.wantEffects(t, "k", 2)
	d.wantEffects(t, "undone", 0)
}

func TestWhatTheWorkLeavesOpen(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	for name, leave := range map[string]func(ctx context.Context, tx pgx.Tx){
		"rows": func(ctx context.Context, tx pgx.Tx) {
			rows, err := tx.Query(ctx, "SELECT generate_series(1, 10000000)")
			if err != nil || !rows.Next() {
				t.Error(err)
			}
		},
		"a row":   func(ctx context.Context, tx pgx.Tx) { _ = tx.QueryRow(ctx, "SELECT 1") },
		"a batch": func(ctx context.Context, tx pgx.Tx) { b := &pgx.Batch{}; b.Queue("SELECT 1"); _ = tx.SendBatch(ctx, b) },
	} {
		for _, workError := range []error{nil, errWork} {
			_, err := engine.Do(t.Context(), hasty.For(alice, name, nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
				if err := write(ctx, tx, name); err != nil {
					t.Error(err)
				}
				leave(ctx, tx)
				return done, workError
			})
			if workError != nil {
				wantError(t, err, errWork)
			} else if wantError(t, err, onceward.ErrNotCommitted); !strings.Contains(err.Error(), "left rows open") {
				t.Errorf("%s: the error does not say why: %v", name, err)
			}
			d.eventually(t, nothingIsHeld)
			d.wantEffects(t, name, 0)
		}
	}
	d.wantRecords(t, 0)
}

// A goroutine that the work has not waited for is in the middle of a statement. The server is made to stop it.
func TestCallThatOutlivesTheWorkIsCutOff(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	for _, workError := range []error{nil, errWork} {
		ended := make(chan error, 1)
		_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
			err := write(ctx, tx, "k")
			go func() {
				_, err := tx.Exec(context.WithoutCancel(ctx), "SELECT pg_sleep(600)")
				ended <- err
			}()
			d.eventually(t, sleepsInAQuery)
			return done, errors.Join(err, workError)
		})
		if workError != nil {
			wantError(t, err, errWork)
		} else {
			wantError(t, err, onceward.ErrNotCommitted)
		}
		wantError(t, <-ended, onceward.ErrTxEnded)
		d.eventually(t, nothingIsHeld)
		d.eventually(t, nothingIsOpen)
	}
	d.wantEffects(t, "k", 0)
}

func TestF03CallerHangsUpInTheMiddleOfAQuery(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := newEngine(t, d.pool).Do(ctx, hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		if err := write(ctx, tx, "k"); err != nil {
			return done, err
		}
		go func() {
			d.eventually(t, sleepsInAQuery)
			cancel()
		}()
		_, err := tx.Exec(ctx, "SELECT pg_sleep(600)")
		return done, err
	})
	wantError(t, err, context.Canceled)
	d.eventually(t, nothingIsHeld)
	d.eventually(t, nothingIsOpen)
	d.wantEffects(t, "k", 0)
	wantFree(t, d.pool)
}

func TestTxIsDeadOnceTheWorkHasReturned(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var leaked, savepoint pgx.Tx
	_, err := newEngine(t, d.pool).Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (_ onceward.Outcome, err error) {
		leaked = tx
		if savepoint, err = tx.Begin(ctx); err != nil {
			return done, err
		}
		return done, write(ctx, savepoint, "k")
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tx := range []pgx.Tx{leaked, savepoint} {
		wantError(t, write(t.Context(), tx, "leak"), onceward.ErrTxEnded)
		wantError(t, tx.QueryRow(t.Context(), "SELECT 1").Scan(nil), onceward.ErrTxEnded)
		wantError(t, tx.Commit(t.Context()), onceward.ErrTxEnded)
		wantError(t, tx.Rollback(t.Context()), onceward.ErrTxEnded)
	}
	d.wantEffects(t, "leak", 0)
}

// What has written is known by its answer, or asked for; what an answer says of no row is no proof.
func TestUntouched(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	for name, test := range map[string]struct {
		work      func(ctx context.Context, tx pgx.Tx) error
		untouched bool
	}{
		"nothing":           {func(context.Context, pgx.Tx) error { return nil }, true},
		"a read":            {execute("SELECT key FROM effect"), true},
		"no row of a write": {execute("UPDATE effect SET key = key WHERE key = 'none'"), true},
		"another connection": {func(ctx context.Context, _ pgx.Tx) error {
			_, err := d.pool.Exec(ctx, "INSERT INTO effect VALUES ('missed')")
			return err
		}, true},
		"Exec": {execute("INSERT INTO effect VALUES ('k')"), false},
		"QueryRow": {func(ctx context.Context, tx pgx.Tx) error {
			return tx.QueryRow(ctx, "INSERT INTO effect VALUES ('k') RETURNING key").Scan(new(string))
		}, false},
		"a query": {func(ctx context.Context, tx pgx.Tx) error {
			rows, _ := tx.Query(ctx, "INSERT INTO effect VALUES ('k') RETURNING key")
			_, err := pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		}, false},
		"a CTE": {execute("WITH w AS (INSERT INTO effect VALUES ('k')) SELECT 1"), false},
		"COPY": {func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"effect"}, []string{"key"}, pgx.CopyFromRows([][]any{{"k"}}))
			return err
		}, false},
	} {
		for _, expired := range []bool{false, true} {
			_, err := engine.Do(t.Context(), hasty.For(alice, name, nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
				return done, test.work(ctx, tx)
			})
			if got := errors.Is(err, onceward.ErrUntouched); got != test.untouched || err != nil && !got {
				t.Errorf("%s (in place of an expired record: %t): untouched %t, want %t; error %v", name, expired, got, test.untouched, err)
			}
			d.exec(t, "UPDATE onceward_record SET expires_at = now()")
		}
	}
}

func TestQueryRowIsAsInPgx(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	_, _ = newEngine(t, d.pool).Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		wantError(t, tx.QueryRow(ctx, "SELECT 1 WHERE false").Scan(new(int)), pgx.ErrNoRows)
		if err := tx.QueryRow(ctx, "SELECT 1").Scan(new(pgtype.DriverBytes)); err == nil {
			t.Error("bytes of the driver outlived their row")
		}
		if err := tx.QueryRow(ctx, "SELECT 1, 2").Scan(new(int)); err == nil {
			t.Error("two columns were scanned into one")
		}
		var n int
		if err := tx.QueryRow(ctx, "SELECT generate_series(7, 9)").Scan(&n); err != nil || n != 7 {
			t.Errorf("scanned %d: %v", n, err)
		}
		return done, tx.QueryRow(ctx, "SELECT 1/0").Scan(&n)
	})
}

// The last user of a connection leaves no setting, lock or transaction to the next.
func TestNothingLeaksIntoTheNextUseOfAConnection(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	pool := connect(t, d.url, func(c *pgxpool.Config) { c.MaxConns = 1 })
	const state = `SELECT current_setting('lock_timeout') || current_setting('idle_in_transaction_session_timeout')
		|| current_setting('transaction_isolation') || (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())`
	read := func() (s string) {
		if err := pool.QueryRow(t.Context(), state).Scan(&s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := read()
	engine := newEngine(t, pool)
	for key, workError := range map[string]error{"saved": nil, "rolled back": errWork} {
		_, err := engine.Do(t.Context(), patient.For(alice, key, nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
			return done, errors.Join(write(ctx, tx, key), workError)
		})
		wantError(t, err, workError)
	}
	if _, err := engine.Do(t.Context(), hasty.For(alice, "saved", nil), writes("saved")); err != nil {
		t.Error(err)
	}
	d.heldClaim(t, "held")
	_, err := engine.Do(t.Context(), (&onceward.Operation{Name: "test.v1", Wait: 20e6}).For(alice, "held", nil), writes("held"))
	wantError(t, err, onceward.ErrInFlight)
	if after := read(); after != before {
		t.Errorf("the connection is in state %s, was in %s", after, before)
	}
	if n := pool.Stat().NewConnsCount(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}

// heldClaim lets another process's attempt hold the claim of key until the test's end, or until the function is called.
func (d *database) heldClaim(t testing.TB, key string) (release func(error)) {
	t.Helper()
	entered, end, ended := make(chan struct{}), make(chan error, 1), make(chan struct{})
	engine := engineOn(t, pgxstore.New(connect(t, d.url, nil)))
	go func() {
		defer close(ended)
		_, _ = engine.Do(context.WithoutCancel(t.Context()), hasty.For(alice, key, nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
			err := write(ctx, tx, key)
			close(entered)
			return done, errors.Join(err, <-end)
		})
	}()
	<-entered
	release = func(err error) {
		select {
		case end <- err:
		default:
		}
		<-ended
	}
	t.Cleanup(func() { release(errWork) })
	return release
}
