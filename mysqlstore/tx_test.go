package mysqlstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/sqlstore"
)

// work is a work from what it does beside its effect.
func work(key string, does func(ctx context.Context, tx sqlstore.Tx) error) onceward.Work[sqlstore.Tx] {
	return func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		return done, errors.Join(write(ctx, tx, key), does(ctx, tx))
	}
}

// A statement that ends the transaction is refused, and the work may go on.
func TestWorkCannotEndItsTransaction(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.db)
	for _, text := range []string{
		"COMMIT", "ROLLBACK", "BEGIN", "START TRANSACTION", "SET autocommit = 1", "SET autocommit = 0", "CREATE TABLE other (n int)",
		"ALTER TABLE effect ADD COLUMN n int", "TRUNCATE effect", "LOCK TABLES effect WRITE", "/* a note */ commit",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := engine.Do(t.Context(), hasty.For(alice, text, nil), work(text, func(ctx context.Context, tx sqlstore.Tx) error {
				refused := execute(ctx, tx, text)
				wantError(t, refused, onceward.ErrTxEnded)
				if row := tx.QueryRowContext(ctx, text); !errors.Is(row.Err(), onceward.ErrTxEnded) {
					t.Errorf("as a query it is answered %v", row.Err())
				}
				return write(ctx, tx, text)
			}))
			wantError(t, err, nil)
			d.wantEffects(t, text, 2)
			result, err := engine.Do(t.Context(), hasty.For(alice, text, nil), writes(text))
			if err != nil || !result.Replayed {
				t.Errorf("the retry: replayed %t, %v", result.Replayed, err)
			}
		})
	}
}

// What ends the transaction without saying so is noticed before the next statement. Nothing is recorded.
func TestWorkThatEndsItsTransactionIsCaught(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a procedure that commits":                "CALL committing()",
		"a procedure that rolls back":             "CALL rolling_back()",
		"a procedure that begins another":         "CALL beginning()",
		"a statement that is made from a text":    "EXECUTE IMMEDIATE 'COMMIT'",
		"several statements in one text":          "INSERT INTO effect VALUES ('within'); COMMIT",
		"a comment that the server executes":      "/*!COMMIT */",
		"several, of which the last begins again": "DO 1; COMMIT; BEGIN",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.exec(t, "CREATE PROCEDURE committing() COMMIT")
			d.exec(t, "CREATE PROCEDURE rolling_back() ROLLBACK")
			d.exec(t, "CREATE PROCEDURE beginning() START TRANSACTION")
			for _, swallows := range []bool{true, false} {
				engine := newEngine(t, d.db)
				_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), work("before", func(ctx context.Context, tx sqlstore.Tx) error {
					err := execute(ctx, tx, text)
					after := write(ctx, tx, "after")
					wantError(t, after, onceward.ErrTxEnded)
					if swallows {
						return nil
					}
					return errors.Join(err, after)
				}))
				wantError(t, err, onceward.ErrTxEnded)
				if errors.Is(err, onceward.ErrNotCommitted) {
					t.Errorf("the error claims that nothing remains: %v", err)
				}
				d.wantEffects(t, "after", 0)
				d.wantRecords(t, 0)
			}
			_, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
			wantError(t, err, nil)
			d.wantEffects(t, "k", 1)
		})
	}
}

// The last statement of a work is watched too, and a harmless one does no harm.
func TestWatchedStatements(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec(t, "CREATE PROCEDURE committing() COMMIT")
	d.exec(t, "CREATE PROCEDURE adding() INSERT INTO effect VALUES ('by a procedure')")
	engine := newEngine(t, d.db)
	_, err := engine.Do(t.Context(), hasty.For(alice, "last", nil), work("k", func(ctx context.Context, tx sqlstore.Tx) error {
		return execute(ctx, tx, "CALL committing()")
	}))
	wantError(t, err, onceward.ErrTxEnded)
	d.wantRecords(t, 0)
	_, err = engine.Do(t.Context(), hasty.For(alice, "harmless", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		return done, errors.Join(
			execute(ctx, tx, "CALL adding()"), execute(ctx, tx, "CREATE TEMPORARY TABLE t (n int)"), execute(ctx, tx, "INSERT INTO t VALUES (1); DELETE FROM t"),
			execute(ctx, tx, "SAVEPOINT mine"), write(ctx, tx, "undone"), execute(ctx, tx, "ROLLBACK TO mine"), execute(ctx, tx, "DROP TEMPORARY TABLE t"),
		)
	})
	wantError(t, err, nil)
	d.wantEffects(t, "by a procedure", 1)
	d.wantEffects(t, "undone", 0)
	d.wantRecords(t, 1)
}

// locks is a part of a work that locks row n of the stock.
type locks func(ctx context.Context, tx sqlstore.Tx, n int) error

// deadlock has two works lock two rows in opposite order; one of them is the victim.
func deadlock(t *testing.T, d *database, first, second locks, after func(ctx context.Context, tx sqlstore.Tx, err error) error) (failed []error) {
	t.Helper()
	d.exec(t, "CREATE TABLE IF NOT EXISTS stock (n int PRIMARY KEY, pieces int NOT NULL) ENGINE = InnoDB")
	d.exec(t, "INSERT IGNORE INTO stock VALUES (1, 100), (2, 100)")
	holds := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	ended := make(chan error, 2)
	for i := range 2 {
		engine := newEngine(t, connect(t, d.url, nil))
		go func() {
			key := []string{"first", "second"}[i]
			_, err := engine.Do(context.Background(), hasty.For(alice, key, nil), work(key, func(ctx context.Context, tx sqlstore.Tx) error {
				if err := first(ctx, tx, i+1); err != nil {
					return err
				}
				close(holds[i])
				<-holds[1-i]
				return after(ctx, tx, second(ctx, tx, 2-i))
			}))
			ended <- err
		}()
	}
	for range 2 {
		if err := <-ended; err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

func update(ctx context.Context, tx sqlstore.Tx, n int) error {
	return execute(ctx, tx, "UPDATE stock SET pieces = pieces - 1 WHERE n = ?", n)
}

// A deadlock takes back one work, its claim and all. It is told that nothing remains, and comes again.
func TestF25_DeadlockInTheWorkLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, swallows := range map[string]bool{"returned": false, "swallowed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			failed := deadlock(t, d, update, update, func(ctx context.Context, tx sqlstore.Tx, err error) error {
				if err == nil {
					return nil
				}
				wantError(t, err, onceward.ErrNotCommitted)
				wantError(t, write(ctx, tx, "after"), onceward.ErrNotCommitted)
				if swallows {
					return nil
				}
				return err
			})
			d.wantOneVictim(t, failed)
		})
	}
}

// The error of a query whose rows are read one by one comes in their middle. Who does not ask for it writes nothing outside
// of the transaction either.
func TestF25_DeadlockAmongRowsIsNoticed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	failed := deadlock(t, d, update, func(ctx context.Context, tx sqlstore.Tx, n int) error {
		rows, err := tx.QueryContext(ctx, "SELECT n FROM stock WHERE n > ? - 1 AND n < ? + 1 FOR UPDATE", n, n) // the head of its rows comes at once
		if err != nil {
			return err
		}
		for rows.Next() { //nolint:revive // it does not look at rows.Err
		}
		return rows.Close()
	}, func(ctx context.Context, tx sqlstore.Tx, _ error) error {
		_ = write(ctx, tx, "after")
		return nil
	})
	for _, err := range failed {
		wantError(t, err, onceward.ErrNotCommitted)
	}
	if got := d.effects(t, "after"); got != 2-len(failed) {
		t.Errorf("%d effects after the deadlock, %d works failed", got, len(failed))
	}
	if got := d.records(t); got != 2-len(failed) || len(failed) != 1 {
		t.Errorf("%d records, %d works failed, want one of each", got, len(failed))
	}
}

// wantOneVictim: of two works that deadlocked one stands, and the other has left nothing and can be sent again.
func (d *database) wantOneVictim(t *testing.T, failed []error) {
	t.Helper()
	if len(failed) != 1 {
		t.Fatalf("%d works failed, want one: %v", len(failed), failed)
	}
	wantError(t, failed[0], onceward.ErrNotCommitted)
	d.wantRecords(t, 1)
	if n := d.effects(t, "first") + d.effects(t, "second"); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
	d.wantEffects(t, "after", 0)
	if n := d.count(t, "SELECT sum(pieces) FROM stock"); n != 198 {
		t.Errorf("%d pieces are left, want 198", n)
	}
	for _, key := range []string{"first", "second"} {
		_, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, key, nil), writes(key))
		wantError(t, err, nil)
		d.wantEffects(t, key, 1)
	}
}

// A lock wait that is over takes back its statement alone, unless the server is set otherwise. Either way the work and its
// record share one fate: a COMMIT after it must not store an order without its record.
func TestF25_LockWaitTimeoutIsAllOrNothing(t *testing.T) {
	t.Parallel()
	for name, setting := range map[string]string{"of the statement": "innodb-rollback-on-timeout=OFF", "of the transaction": "innodb-rollback-on-timeout=ON"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := dbtest.StartMariaDB(t, dbtest.MariaDBOptions{Settings: []string{setting, "innodb-lock-wait-timeout=1"}})
			d := databaseAt(t, server.Database(t))
			d.exec(t, "CREATE TABLE stock (n int PRIMARY KEY, pieces int NOT NULL) ENGINE = InnoDB")
			d.exec(t, "INSERT INTO stock VALUES (1, 100)")
			tx, _, _ := d.begin(t)
			if err := update(t.Context(), tx, 1); err != nil {
				t.Fatal(err)
			}
			engine := newEngine(t, d.db)
			for _, key := range []string{"returned", "swallowed"} {
				swallows := key == "swallowed"
				_, err := engine.Do(t.Context(), hasty.For(alice, key, nil), work(key, func(ctx context.Context, tx sqlstore.Tx) error {
					err := update(ctx, tx, 1)
					wantError(t, err, onceward.ErrUnavailable)
					if !swallows {
						return err
					}
					_ = write(ctx, tx, key)
					return nil
				}))
				switch {
				case !swallows:
					wantError(t, err, onceward.ErrUnavailable)
				case strings.HasSuffix(setting, "OFF"):
					wantError(t, err, nil)
				default:
					wantError(t, err, onceward.ErrNotCommitted)
				}
				if effects, stands := d.effects(t, key), err == nil; effects != map[bool]int{true: 2, false: 0}[stands] {
					t.Errorf("%s: %d effects, although the record stands: %t", key, effects, stands)
				}
				d.wantRecords(t, map[bool]int{true: 1, false: 0}[err == nil])
			}
		})
	}
}

// Two that claim keys which are not there lock no gap: neither waits for the other, and none is a deadlock's victim.
func TestF25_ClaimsLockNoGaps(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMariaDB(t, dbtest.MariaDBOptions{})
	d := databaseAt(t, server.Database(t))
	const callers, keys = 16, 20
	ended := make(chan error, callers)
	for i := range callers {
		engine := newEngine(t, connect(t, d.url, nil))
		go func() {
			var err error
			for n := range keys {
				key := []string{"a", "b", "c", "d"}[(n+i)%4] + string(rune('a'+n/4))
				_, failed := engine.Do(context.Background(), patient.For(alice, key, nil), writes(key))
				err = errors.Join(err, failed)
			}
			ended <- err
		}()
	}
	for range callers {
		wantError(t, <-ended, nil)
	}
	if n := d.count(t, "SELECT count(*) FROM effect"); n != keys {
		t.Errorf("%d effects, want %d", n, keys)
	}
	d.wantRecords(t, keys)
	if status, err := server.Exec("mysql", "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"); err != nil || status != "Innodb_deadlocks\t0" {
		t.Errorf("the server says %q, %v", status, err)
	}
}

// A failing winner wakes its waiters one by one: in a lock's queue they would deadlock.
func TestF25_FailingWinnersMakeNoDeadlocks(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMariaDB(t, dbtest.MariaDBOptions{})
	d := databaseAt(t, server.Database(t))
	const callers = 12
	ended := make(chan error, callers)
	for i := range callers {
		engine := newEngine(t, connect(t, d.url, nil)) // a process each: no flight keeps them apart
		go func() {
			_, err := engine.Do(context.Background(), patient.For(alice, "k", nil), work("k", func(context.Context, sqlstore.Tx) error {
				if i%4 != 0 {
					return errWork
				}
				return nil
			}))
			if errors.Is(err, errWork) {
				err = nil
			}
			ended <- err
		}()
	}
	for range callers {
		wantError(t, <-ended, nil)
	}
	d.wantEffects(t, "k", 1)
	d.wantRecords(t, 1)
	if status, err := server.Exec("mysql", "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"); err != nil || status != "Innodb_deadlocks\t0" {
		t.Errorf("the server says %q, %v", status, err)
	}
}

// Rows that a work leaves open are closed when it ends, and stand with it.
func TestWorkLeavesRowsOpen(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for _, key := range []string{"a", "b", "c"} {
		d.exec(t, "INSERT INTO effect VALUES (?)", key)
	}
	_, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, "k", nil), work("k", func(ctx context.Context, tx sqlstore.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT `key` FROM effect")
		rows.Next()
		return err
	}))
	wantError(t, err, nil)
	d.wantEffects(t, "k", 1)
	d.wantRecords(t, 1)
}

// A work that changes its own claim saves nothing, and commits nothing.
func TestWorkChangesItsOwnClaim(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for _, text := range []string{"DELETE FROM onceward_record", "UPDATE onceward_record SET state = 'completed'", "UPDATE onceward_record SET attempt = REPEAT('x', 16)"} {
		_, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, "k", nil), work("k", func(ctx context.Context, tx sqlstore.Tx) error {
			return execute(ctx, tx, text)
		}))
		wantError(t, err, onceward.ErrNotCommitted)
		d.wantEffects(t, "k", 0)
		d.wantRecords(t, 0)
	}
}

// A goroutine that outlives its work holds the end of the attempt up for as long as its statement runs, and no longer than
// the saving may take.
func TestWorkLeavesAStatementRunning(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine, err := onceward.New(storeOn(connect(t, d.url, nil)), onceward.Options{MemoryBytesMax: -1, SaveTimeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	interrupted := make(chan error, 1)
	_, err = engine.Do(t.Context(), hasty.For(alice, "k", nil), work("k", func(_ context.Context, tx sqlstore.Tx) error {
		go func() { interrupted <- execute(context.Background(), tx, "SELECT SLEEP(600)") }()
		d.eventually(t, "count(*) FROM information_schema.processlist WHERE state = 'User sleep' AND db = DATABASE()")
		return nil
	}))
	wantError(t, err, onceward.ErrNotCommitted)
	if <-interrupted == nil {
		t.Error("the statement was not interrupted")
	}
	d.wantEffects(t, "k", 0)
	d.exec(t, "KILL "+d.text(t, "SELECT id FROM information_schema.processlist WHERE state = 'User sleep' AND db = DATABASE()"))
	_, err = newEngine(t, d.db).Do(t.Context(), patient.For(alice, "k", nil), writes("k"))
	wantError(t, err, nil)
	d.wantEffects(t, "k", 1)
}

// What the work finds of the session's settings is what the connection had, its time-outs above all.
func TestWorkNeverSeesOurLockTimeout(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	release := d.heldClaim(t, "k")
	db := connect(t, d.url, nil)
	db.SetMaxOpenConns(1)
	before := settings(t, db)
	_, err := newEngine(t, db).Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrInFlight)
	_ = release(errWork)
	_, err = newEngine(t, db).Do(t.Context(), hasty.For(alice, "k", nil), work("k", func(ctx context.Context, tx sqlstore.Tx) error {
		var wait, isolation string
		err := tx.QueryRowContext(ctx, "SELECT @@innodb_lock_wait_timeout, @@tx_isolation").Scan(&wait, &isolation)
		if wait != "50" {
			t.Errorf("the work sees a lock wait time-out of %s s", wait)
		}
		return err
	}))
	wantError(t, err, nil)
	if after := settings(t, db); after != before {
		t.Errorf("the connection has %s, it had %s", after, before)
	}
}

// The work's isolation level is the store's to say: what others commit meanwhile is seen, whatever the session's own level.
func TestWorkReadsWhatIsCommitted(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			open, _, _ := d.begin(t)
			if err := write(t.Context(), open, "uncommitted"); err != nil {
				t.Fatal(err)
			}
			engine := newEngine(t, connect(t, d.url, parameters(map[string]string{"tx_isolation": "'" + level + "'"})))
			_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), work("k", func(ctx context.Context, tx sqlstore.Tx) error {
				for want := 1; want <= 2; want++ { // its own effect, and what comes between the two
					var n int
					if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM effect").Scan(&n); err != nil {
						return err
					}
					if n != want {
						t.Errorf("the work sees %d effects, want %d", n, want)
					}
					d.exec(t, "INSERT INTO effect VALUES ('another')")
				}
				return nil
			}))
			wantError(t, err, nil)
		})
	}
}
