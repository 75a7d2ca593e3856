package pgsqltest

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/pgsqlstore"
	"github.com/onceward/onceward/sqlstore"
)

// rawEnds are ways to end a transaction by SQL.
var rawEnds = []string{
	"COMMIT", "commit work", "COMMIT AND CHAIN", "END", "End Transaction;", "ROLLBACK", "ROLLBACK AND CHAIN", "ABORT",
	"COMMIT; BEGIN", "SELECT 1; COMMIT", ";;COMMIT", "/* a /* nested */ comment */ COMMIT", "-- a line\nCOMMIT", "-- a line\rCOMMIT",
	"SELECT ';'';', E'\\';', $$;$$, $x$ $$ ; $x$; COMMIT", `SELECT 1 AS "a;""b"; COMMIT`, "SELECT 1\n;\n\tCOMMIT\n", "PREPARE TRANSACTION 'x'",
	"(SELECT 1); COMMIT", "SELECT 1 AS a$b$; COMMIT", "COMMIT--", "COMMIT/**/WORK", "SELECT 'a'\n'b'; COMMIT",
}

// A transaction that ends by SQL is not the work's to end. The server confirms that the texts do end one.
func TestRawEndIsNotSent(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		engine := newEngine(t, d.db)
		for _, end := range rawEnds {
			if !d.ends(t, end) {
				t.Errorf("%q ends no transaction: it tests nothing", end)
			}
			_, err := engine.Do(t.Context(), hasty.For(alice, end, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
				first := write(ctx, tx, end)
				_, err := tx.ExecContext(ctx, end)
				wantError(t, err, onceward.ErrTxEnded)
				_, err = tx.QueryContext(ctx, end)
				wantError(t, err, onceward.ErrTxEnded)
				wantError(t, tx.QueryRowContext(ctx, end).Err(), onceward.ErrTxEnded)
				return done, errors.Join(first, write(ctx, tx, end), errWork)
			})
			wantError(t, err, errWork)
			d.wantEffects(t, end, 0)
		}
		d.wantRecords(t, 0)
		d.eventually(t, nothingIsHeld)
	})
}

// ends reports whether the text, which the server must understand, takes a session out of the transaction that it is in.
func (d *database) ends(t *testing.T, text string) bool {
	t.Helper()
	conn, err := d.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var before, after string
	const mark = "SELECT now()::text"
	if _, err := conn.ExecContext(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRowContext(t.Context(), mark).Scan(&before); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), text); err != nil && !strings.Contains(err.Error(), "prepared transactions are disabled") {
		t.Errorf("%q: %v", text, err)
	}
	_ = conn.QueryRowContext(t.Context(), mark).Scan(&after)
	_, _ = conn.ExecContext(t.Context(), "ROLLBACK")
	return before != after
}

// What only looks like an end is sent.
func TestWhatEndsNothingIsSent(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		for _, text := range []string{
			"SELECT 'COMMIT; COMMIT'", "SELECT $$;COMMIT;$$", `SELECT 1 AS "commit;commit"`, "SELECT 1 -- ;COMMIT", "SELECT /* ; COMMIT */ 1",
			"SELECT E'\\'; COMMIT; '", "SELECT E'a''\\'; COMMIT; '", "SELECT $x$;$$;COMMIT;$x$", "SELECT 1 AS commit", "SELECT CASE WHEN true THEN 1 END",
			"SAVEPOINT a; ROLLBACK TO a; RELEASE a", "SAVEPOINT a; ROLLBACK WORK TO SAVEPOINT a", "SAVEPOINT a; rollback transaction to a",
			"DO $$ BEGIN PERFORM 1; END $$", "PREPARE p AS SELECT 1; EXECUTE p; DEALLOCATE p", "SET CONSTRAINTS ALL IMMEDIATE", ";",
		} {
			if d.ends(t, text) {
				t.Errorf("%q ends a transaction: it tests nothing", text)
			}
			_, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, text, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
				return done, errors.Join(execute(text)(ctx, tx), write(ctx, tx, text))
			})
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			d.wantEffects(t, text, 1)
		}
	})
}

// What the lexer is mistaken about, since the server reads backslashes as it did long ago, is noticed all the same.
func TestRawEndThatIsOverlookedSavesNothing(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		d.exec(t, "ALTER DATABASE "+d.name(t)+" SET standard_conforming_strings = off")
		engine := newEngine(t, connect(t, d.driver, d.url))
		for name, workError := range map[string]error{"nil": nil, "an error": errWork} {
			for _, end := range []string{`SELECT 'it\'s'; COMMIT`, `SELECT 'it\'s'; COMMIT; BEGIN`, `SELECT 'it\'s'; COMMIT AND CHAIN`} {
				key := end + name
				_, err := engine.Do(t.Context(), hasty.For(alice, key, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
					return done, errors.Join(write(ctx, tx, key), execute(end)(ctx, tx), workError)
				})
				if wantError(t, err, onceward.ErrTxEnded); errors.Is(err, onceward.ErrNotCommitted) {
					t.Errorf("%s: the error claims that nothing remains: %v", key, err)
				}
				d.wantEffects(t, key, 1) // cannot be taken back
			}
		}
		d.wantRecords(t, 0)
		d.eventually(t, nothingIsHeld)
		d.eventually(t, nothingIsOpen)
	})
}

func (d *database) name(t *testing.T) (name string) {
	t.Helper()
	if err := d.db.QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestF23AbortedTransactionIsNeverQueriedOn(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		engine := newEngine(t, d.db)
		_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			if err := write(ctx, tx, "k"); err != nil {
				return done, err
			}
			_ = execute("SELECT 1/0")(ctx, tx)
			return done, nil
		})
		if wantError(t, err, onceward.ErrNotCommitted); !strings.Contains(err.Error(), "SAVEPOINT") {
			t.Errorf("the error does not say what to do: %v", err)
		}
		d.wantEffects(t, "k", 0)
		d.wantRecords(t, 0)
		_, err = engine.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			err := errors.Join(execute("SAVEPOINT a")(ctx, tx), write(ctx, tx, "undone"))
			if execute("SELECT 1/0")(ctx, tx) == nil {
				t.Error("the savepoint reported no error")
			}
			return done, errors.Join(err, execute("ROLLBACK TO a")(ctx, tx), write(ctx, tx, "k"))
		})
		if err != nil {
			t.Errorf("savepoints: %v", err)
		}
		d.wantEffects(t, "k", 1)
		d.wantEffects(t, "undone", 0)
	})
}

// Rows that a work leaves open are closed, and a work that failed by them, or not, leaves all or nothing.
func TestRowsThatTheWorkLeavesOpen(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		engine := newEngine(t, d.db)
		for _, workError := range []error{nil, errWork} {
			_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
				err := write(ctx, tx, "k")
				rows, err2 := tx.QueryContext(ctx, "SELECT generate_series(1, 10000000)")
				if err2 != nil || !rows.Next() {
					t.Error(err2)
				}
				return done, errors.Join(err, workError)
			})
			if err == nil {
				t.Error("half-read rows were taken")
			} else if workError == nil && (!errors.Is(err, onceward.ErrNotCommitted) || !strings.Contains(err.Error(), "rows")) {
				t.Errorf("the error does not say why: %v", err)
			}
			d.eventually(t, nothingIsHeld)
		}
		d.wantEffects(t, "k", 0)
		d.wantRecords(t, 0)
		wantFree(t, d.db)
	})
}

// A goroutine that the work has not waited for is in the middle of a statement. It is stopped.
func TestCallThatOutlivesTheWorkIsCutOff(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		engine := newEngine(t, d.db)
		for _, workError := range []error{nil, errWork} {
			ended := make(chan error, 1)
			_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
				err := write(ctx, tx, "k")
				go func() { ended <- execute("SELECT pg_sleep(600)")(context.WithoutCancel(ctx), tx) }()
				d.eventually(t, sleepsInAQuery)
				return done, errors.Join(err, workError)
			})
			if workError != nil {
				wantError(t, err, errWork)
			} else if wantError(t, err, onceward.ErrNotCommitted); !strings.Contains(err.Error(), "still running") {
				t.Errorf("the error does not say why: %v", err)
			}
			if err := <-ended; err == nil {
				t.Error("the statement succeeded")
			}
			d.eventually(t, nothingIsHeld)
			d.eventually(t, nothingIsOpen)
		}
		d.wantEffects(t, "k", 0)
	})
}

func TestF03CallerHangsUpInTheMiddleOfAQuery(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := newEngine(t, d.db).Do(ctx, hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			if err := write(ctx, tx, "k"); err != nil {
				return done, err
			}
			go func() {
				d.eventually(t, sleepsInAQuery)
				cancel()
			}()
			return done, execute("SELECT pg_sleep(600)")(ctx, tx)
		})
		if err == nil {
			t.Error("the statement succeeded")
		}
		d.eventually(t, nothingIsHeld)
		d.eventually(t, nothingIsOpen)
		d.wantEffects(t, "k", 0)
		wantFree(t, d.db)
	})
}

func TestTxIsDeadOnceTheWorkHasReturned(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		var leaked sqlstore.Tx
		_, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			leaked = tx
			return done, write(ctx, tx, "k")
		})
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, write(t.Context(), leaked, "leak"), onceward.ErrTxEnded)
		wantError(t, leaked.QueryRowContext(t.Context(), "SELECT 1").Err(), onceward.ErrTxEnded)
		d.wantEffects(t, "leak", 0)
	})
}

func TestUntouched(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		engine := newEngine(t, d.db)
		for name, test := range map[string]struct {
			work      func(ctx context.Context, tx sqlstore.Tx) error
			untouched bool
		}{
			"nothing":           {func(context.Context, sqlstore.Tx) error { return nil }, true},
			"a read":            {execute("SELECT key FROM effect"), true},
			"no row of a write": {execute("UPDATE effect SET key = key WHERE key = 'none'"), true},
			"another connection": {func(ctx context.Context, _ sqlstore.Tx) error {
				_, err := d.db.ExecContext(ctx, "INSERT INTO effect VALUES ('missed')")
				return err
			}, true},
			"a write": {execute("INSERT INTO effect VALUES ('k')"), false},
			"a row": {func(ctx context.Context, tx sqlstore.Tx) error {
				return tx.QueryRowContext(ctx, "INSERT INTO effect VALUES ('k') RETURNING key").Scan(new(string))
			}, false},
		} {
			for _, expired := range []bool{false, true} {
				_, err := engine.Do(t.Context(), hasty.For(alice, name, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
					return done, test.work(ctx, tx)
				})
				if got := errors.Is(err, onceward.ErrUntouched); got != test.untouched || err != nil && !got {
					t.Errorf("%s (in place of an expired record: %t): untouched %t, want %t; error %v", name, expired, got, test.untouched, err)
				}
				d.exec(t, "UPDATE onceward_record SET expires_at = now()")
			}
		}
	})
}

// The last user of a connection leaves no setting, lock or transaction to the next.
func TestNothingLeaksIntoTheNextUseOfAConnection(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		db := connect(t, d.driver, d.url)
		db.SetMaxOpenConns(1)
		before := settings(t, db)
		engine := newEngine(t, db)
		for key, workError := range map[string]error{"saved": nil, "rolled back": errWork} {
			_, err := engine.Do(t.Context(), patient.For(alice, key, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
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
		if after := settings(t, db); after != before {
			t.Errorf("the connection is in state %s, was in %s", after, before)
		}
	})
}

// settings is the state of a connection: its process, its settings, its locks.
func settings(t *testing.T, db *sql.DB) (state string) {
	t.Helper()
	err := db.QueryRowContext(t.Context(), `SELECT concat_ws(' ', pg_backend_pid(), current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'),
		current_setting('transaction_isolation'), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()))`).Scan(&state)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// A work that sends its statements under many contexts leaves nothing of them behind.
func TestWorkWithManyContexts(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		type unknown struct {
			context.Context
			_ []int // makes the type one that cannot be compared
		}
		_, err := engineOn(t, pgsqlstore.New(d.db)).Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			for range 10 {
				own, cancel := context.WithCancel(ctx)
				err := errors.Join(write(own, tx, "k"), write(unknown{Context: own}, tx, "k"))
				if cancel(); err != nil {
					return done, err
				}
			}
			return done, nil
		})
		if err != nil {
			t.Error(err)
		}
		d.wantEffects(t, "k", 20)
	})
}
