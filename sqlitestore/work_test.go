package sqlitestore_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

var errWork = errors.New("the work failed")

// slow are statements that take longer than any test waits for.
const (
	slowInsert = "INSERT INTO effect (key) WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT 'slow' FROM c"
	slowSelect = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT count(*) FROM c"
)

func execute(ctx context.Context, tx sqlstore.Tx, query string) error {
	_, err := tx.ExecContext(ctx, query)
	return err
}

// trial is a work that does what it should not, and what is right then.
type trial struct {
	name    string
	work    func(ctx context.Context, tx sqlstore.Tx) error
	want    error // nil: it is saved
	effects int   // under "k"
}

func (c trial) run(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	outside(t, path, `CREATE TRIGGER guard BEFORE INSERT ON singular WHEN NEW.key = 'forbidden' BEGIN SELECT RAISE(ROLLBACK, 'no'); END`)
	outside(t, path, "CREATE TABLE child (parent TEXT REFERENCES singular (key) DEFERRABLE INITIALLY DEFERRED)")
	engine := engineOn(t, store, onceward.Options{MemoryBytesMax: -1})
	command := place.For(caller, "k", nil)
	_, err := engine.Do(t.Context(), command, func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		return onceward.Outcome{}, c.work(ctx, tx)
	})
	if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
		t.Errorf("Do: %v, want %v", err, c.want)
	}
	if got := effects(t, path, "k"); got != c.effects {
		t.Errorf("%d effects, want %d", got, c.effects)
	}
	wantRecords := 0
	if c.want == nil {
		wantRecords = 1
	}
	if got := records(t, path); got != wantRecords {
		t.Errorf("%d records, want %d", got, wantRecords)
	}
	if err := engine.Once(t.Context(), place.For(caller, "next", nil), func(ctx context.Context, tx sqlstore.Tx) error { return write(ctx, tx, "next") }); err != nil {
		t.Errorf("the next work: %v", err)
	}
	if effects(t, path, "next") != 1 || records(t, path) != wantRecords+1 {
		t.Error("the next work was not saved")
	}
}

// TestWorkCannotEndItsTransaction: raw SQL that would end it is refused; what SQLite ends is noticed.
func TestWorkCannotEndItsTransaction(t *testing.T) {
	t.Parallel()
	cases := []trial{
		{"raise(rollback), swallowed", func(ctx context.Context, tx sqlstore.Tx) error {
			if err := write(ctx, tx, "k"); err != nil {
				return err
			}
			_ = execute(ctx, tx, "INSERT INTO singular VALUES ('forbidden')")
			_ = write(ctx, tx, "k")
			return nil
		}, onceward.ErrTxEnded, 0},
		{"insert or rollback", func(ctx context.Context, tx sqlstore.Tx) error {
			return errors.Join(write(ctx, tx, "k"), execute(ctx, tx, "INSERT OR ROLLBACK INTO singular VALUES ('a'), ('a')"), errWork)
		}, errWork, 0},
		{"insert or rollback, swallowed, and written on", func(ctx context.Context, tx sqlstore.Tx) error {
			if err := write(ctx, tx, "k"); err != nil {
				return err
			}
			_ = execute(ctx, tx, "INSERT OR ROLLBACK INTO singular VALUES ('a'), ('a')")
			if err := write(ctx, tx, "k"); !errors.Is(err, onceward.ErrTxEnded) {
				return fmt.Errorf("after the end a statement got %w", err)
			}
			return nil
		}, onceward.ErrTxEnded, 0},
		{"a deferred constraint fails at the commit", func(ctx context.Context, tx sqlstore.Tx) error {
			return errors.Join(write(ctx, tx, "k"), execute(ctx, tx, "INSERT INTO child VALUES ('nobody')"))
		}, onceward.ErrNotCommitted, 0},
	}
	for _, statement := range []string{
		"COMMIT", "END", "ROLLBACK", "COMMIT; BEGIN IMMEDIATE", "ROLLBACK; BEGIN IMMEDIATE", "BEGIN",
		"SAVEPOINT onceward_1", "RELEASE ONCEWARD_1", "ROLLBACK TO onceward_1", "EXPLAIN COMMIT",
	} {
		cases = append(cases,
			trial{statement, func(ctx context.Context, tx sqlstore.Tx) error {
				return errors.Join(write(ctx, tx, "k"), execute(ctx, tx, statement))
			}, onceward.ErrTxEnded, 0},
			trial{statement + ", swallowed", func(ctx context.Context, tx sqlstore.Tx) error {
				if err := execute(ctx, tx, statement); err == nil {
					return errors.New("it was not refused")
				}
				return write(ctx, tx, "k")
			}, nil, 1},
			trial{statement + " as a query", func(ctx context.Context, tx sqlstore.Tx) error {
				return errors.Join(write(ctx, tx, "k"), tx.QueryRowContext(ctx, statement).Scan())
			}, onceward.ErrTxEnded, 0},
		)
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

// TestWorkLeavesNothingBehind: what is open is closed, and nothing stays on the connection for the next work.
func TestWorkLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	two := "INSERT INTO effect (key) VALUES ('k'), ('k') RETURNING key"
	cases := []trial{
		{"rows left open", func(ctx context.Context, tx sqlstore.Tx) error {
			for range 40 {
				rows, err := tx.QueryContext(ctx, "SELECT 1 UNION ALL SELECT 2")
				if err != nil || !rows.Next() {
					return fmt.Errorf("query: %w", err)
				}
			}
			return write(ctx, tx, "k")
		}, nil, 1},
		{"RETURNING rows left open", func(ctx context.Context, tx sqlstore.Tx) error {
			rows, err := tx.QueryContext(ctx, two)
			if err == nil && !rows.Next() {
				return rows.Err()
			}
			return err
		}, nil, 2},
		{"a row never scanned", func(ctx context.Context, tx sqlstore.Tx) error {
			return tx.QueryRowContext(ctx, two).Err()
		}, nil, 2},
		{"rows left open by a work that fails", func(ctx context.Context, tx sqlstore.Tx) error {
			_, err := tx.QueryContext(ctx, two)
			return errors.Join(err, errWork)
		}, errWork, 0},
		{"a savepoint of its own left open", func(ctx context.Context, tx sqlstore.Tx) error {
			return errors.Join(execute(ctx, tx, "SAVEPOINT mine"), write(ctx, tx, "k"))
		}, nil, 1},
		{"a savepoint of its own rolled back", func(ctx context.Context, tx sqlstore.Tx) error {
			return errors.Join(write(ctx, tx, "k"), execute(ctx, tx, "SAVEPOINT mine"), write(ctx, tx, "k"),
				execute(ctx, tx, "ROLLBACK TO mine"), execute(ctx, tx, "RELEASE mine"))
		}, nil, 1},
		{"prepare", func(ctx context.Context, tx sqlstore.Tx) error {
			_, err := tx.PrepareContext(ctx, "SELECT 1")
			return err
		}, sqlstore.ErrPrepare, 0},
		{"harmless pragmas", func(ctx context.Context, tx sqlstore.Tx) error {
			return errors.Join(write(ctx, tx, "k"), execute(ctx, tx, "PRAGMA defer_foreign_keys = ON"), execute(ctx, tx, "PRAGMA user_version = 7"),
				tx.QueryRowContext(ctx, "PRAGMA table_info(effect)").Err(), tx.QueryRowContext(ctx, "PRAGMA foreign_keys").Err())
		}, nil, 1},
	}
	for _, statement := range []string{
		"ATTACH ':memory:' AS other", "DETACH main", "CREATE TEMP TABLE effect (key)", "CREATE TEMP VIEW v AS SELECT 1",
		"CREATE TEMP TRIGGER g BEFORE INSERT ON effect BEGIN SELECT RAISE(IGNORE); END",
		"PRAGMA synchronous = OFF", "PRAGMA writable_schema = ON", "PRAGMA journal_mode = DELETE", "PRAGMA foreign_keys = OFF",
		"PRAGMA busy_timeout = 0", "PRAGMA locking_mode = EXCLUSIVE", "PRAGMA wal_checkpoint", "PRAGMA query_only = ON",
		"PRAGMA recursive_triggers(1)", "PRAGMA main.synchronous = 0",
	} {
		cases = append(cases, trial{statement, func(ctx context.Context, tx sqlstore.Tx) error {
			if err := execute(ctx, tx, statement); err == nil {
				return errors.New("it was not refused")
			}
			return write(ctx, tx, "k")
		}, nil, 1})
	}
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

func TestWorkIsInterruptedAtItsDeadline(t *testing.T) {
	t.Parallel()
	soon := func(ctx context.Context) context.Context {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
	for _, c := range []trial{
		{"slow insert", func(ctx context.Context, tx sqlstore.Tx) error {
			return errors.Join(write(ctx, tx, "k"), execute(soon(ctx), tx, slowInsert))
		}, context.DeadlineExceeded, 0},
		{"slow insert, swallowed", func(ctx context.Context, tx sqlstore.Tx) error {
			err := write(ctx, tx, "k")
			_ = execute(soon(ctx), tx, slowInsert)
			_ = write(ctx, tx, "k")
			return err
		}, onceward.ErrNotCommitted, 0},
		{"slow select", func(ctx context.Context, tx sqlstore.Tx) error {
			return errors.Join(write(ctx, tx, "k"), tx.QueryRowContext(soon(ctx), slowSelect).Err())
		}, context.DeadlineExceeded, 0},
		{"slow select, swallowed", func(ctx context.Context, tx sqlstore.Tx) error {
			_ = tx.QueryRowContext(soon(ctx), slowSelect).Err()
			return write(ctx, tx, "k")
		}, nil, 1},
	} {
		t.Run(c.name, c.run)
	}
}

// TestWorkTimeout: a work that gives its statements a context without end is interrupted too.
func TestWorkTimeout(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{WorkTimeout: 50 * time.Millisecond})
	engine := engineOn(t, store, onceward.Options{})
	err := engine.Once(t.Context(), place.For(caller, "k", nil), func(_ context.Context, tx sqlstore.Tx) error {
		return execute(context.Background(), tx, slowInsert)
	})
	if !errors.Is(err, context.DeadlineExceeded) || records(t, path) != 0 || effects(t, path, "slow") != 0 {
		t.Errorf("%v, %d records, %d effects; want an interrupt and nothing", err, records(t, path), effects(t, path, "slow"))
	}
}

// TestF03_CallerHangsUpInLastStatement: the statement that runs when the caller hangs up is not interrupted, or SQLite
// would roll back the work; it is saved, and the retry replays it.
func TestF03_CallerHangsUpInLastStatement(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	engine := engineOn(t, store, onceward.Options{MemoryBytesMax: -1})
	ctx, cancel := context.WithCancel(t.Context())
	command := place.For(caller, "k", nil)
	_, err := engine.Do(ctx, command, func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		done := calls(t, cancel)
		defer done()
		_, err := tx.ExecContext(ctx, "INSERT INTO effect (key) WITH RECURSIVE c(n) AS (SELECT test_call(?) UNION ALL SELECT n+1 FROM c WHERE n < 20000) SELECT 'k' FROM c", t.Name())
		if ctx.Err() == nil {
			t.Error("the caller has not hung up in the insert")
		}
		if err := write(ctx, tx, "late"); !errors.Is(err, context.Canceled) {
			t.Errorf("the next statement: %v, want that it is not begun", err)
		}
		return onceward.Outcome{}, err
	})
	if err != nil || effects(t, path, "k") != 20000 || effects(t, path, "late") != 0 || records(t, path) != 1 {
		t.Errorf("Do: %v; %d effects and %d records", err, effects(t, path, "k"), records(t, path))
	}
	if result, err := engine.Do(t.Context(), command, writes("again")); err != nil || !result.Replayed {
		t.Errorf("the retry: %v, replayed %t", err, result.Replayed)
	}
}

// called are the functions that SQL's test_call(name) calls; it is 1.
var called sync.Map

func init() {
	sqlite.MustRegisterScalarFunction("test_call", 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		f, ok := called.Load(args[0])
		if !ok {
			return nil, errors.New("nobody is called that")
		}
		f.(func())()
		return int64(1), nil
	})
}

// calls has test_call call f under the test's name.
func calls(t *testing.T, f func()) (done func()) {
	called.Store(t.Name(), f)
	return func() { called.Delete(t.Name()) }
}

// TestGoroutineOutlivesItsWork: its statements are refused, also while the next work has the connection.
func TestGoroutineOutlivesItsWork(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	engine := engineOn(t, store, onceward.Options{})
	for _, end := range []error{nil, errWork} {
		next := make(chan struct{})
		done := make(chan error, 3)
		_ = engine.Once(t.Context(), place.For(caller, fmt.Sprint("k", end), nil), func(ctx context.Context, tx sqlstore.Tx) error {
			go func() {
				<-next
				ctx := context.WithoutCancel(ctx)
				_, err := tx.QueryContext(ctx, "SELECT 1")
				done <- err
				done <- tx.QueryRowContext(ctx, "SELECT 1").Err()
				done <- write(ctx, tx, "leaked")
			}()
			return errors.Join(write(ctx, tx, "k"), end)
		})
		err := engine.Once(t.Context(), place.For(caller, fmt.Sprint("next", end), nil), func(ctx context.Context, tx sqlstore.Tx) error {
			close(next)
			for range 3 {
				if err := <-done; !errors.Is(err, onceward.ErrTxEnded) {
					t.Errorf("a statement of a work that has returned: %v, want ErrTxEnded", err)
				}
			}
			return write(ctx, tx, "next")
		})
		if err != nil {
			t.Error(err)
		}
	}
	if effects(t, path, "k") != 1 || effects(t, path, "next") != 2 || effects(t, path, "leaked") != 0 {
		t.Errorf("effects: k %d, next %d, leaked %d", effects(t, path, "k"), effects(t, path, "next"), effects(t, path, "leaked"))
	}
}

// TestGoroutineStillRunsAStatement: the end of a work that fails interrupts it; it does not delay the next.
func TestGoroutineStillRunsAStatement(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{WorkTimeout: time.Hour})
	engine := engineOn(t, store, onceward.Options{SaveTimeout: time.Hour})
	ended := make(chan error, 1)
	err := engine.Once(t.Context(), place.For(caller, "k", nil), func(ctx context.Context, tx sqlstore.Tx) error {
		if err := write(ctx, tx, "k"); err != nil {
			return err
		}
		running := make(chan struct{})
		go func() {
			close(running)
			ended <- execute(context.Background(), tx, slowInsert)
		}()
		<-running
		return errWork
	})
	if !errors.Is(err, errWork) {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the statement of the goroutine ended well")
	}
	if n := effects(t, path, "k") + effects(t, path, "slow") + records(t, path); n != 0 {
		t.Errorf("%d rows were left", n)
	}
}
