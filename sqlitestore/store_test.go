package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// until polls for what offers no signal.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// hold starts a work with one effect under key and returns once it stands still; end lets it return err.
func hold(t testing.TB, store onceward.Store[sqlstore.Tx], key string) (end func(err error) error) {
	t.Helper()
	engine := engineOn(t, store, onceward.Options{})
	entered, release, done := make(chan struct{}), make(chan error, 1), make(chan error, 1)
	go func() {
		done <- engine.Once(context.Background(), place.For(caller, key, nil), func(ctx context.Context, tx sqlstore.Tx) error {
			err := write(ctx, tx, key)
			close(entered)
			return errors.Join(err, <-release)
		})
	}()
	select {
	case <-entered:
	case err := <-done:
		t.Fatalf("the holder's work did not run: %v", err)
	}
	let := sync.OnceFunc(func() { close(release) })
	t.Cleanup(let)
	return func(err error) error {
		if err != nil {
			release <- err
		}
		let()
		return <-done
	}
}

func TestOtherCommandsQueue(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{QueueMax: 3})
	end := hold(t, store, "held")

	// The same command is told at once, another's turn comes.
	began := time.Now()
	if err := engineOn(t, store, onceward.Options{}).Once(t.Context(), place.For(caller, "held", nil), nil); !errors.Is(err, onceward.ErrInFlight) {
		t.Errorf("a contender that does not wait: %v", err)
	}
	if took := time.Since(began); took > patience/10 {
		t.Errorf("a contender that does not wait waited %v", took)
	}
	engine := engineOn(t, store, onceward.Options{})
	replies := make(chan error, 3)
	ctx, hangUp := context.WithCancel(t.Context())
	for i, ctx := range []context.Context{t.Context(), ctx, t.Context()} {
		go func() {
			_, err := engine.Do(ctx, place.For(caller, fmt.Sprint("other ", i), nil), writes("other"))
			replies <- err
		}()
		until(t, "it waits", func() bool { return store.Waiting() == i+1 })
	}
	if _, err := engine.Do(t.Context(), place.For(caller, "one too many", nil), writes("other")); !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("one more than QueueMax: %v", err)
	}
	hangUp()
	if err := <-replies; !errors.Is(err, context.Canceled) || store.Waiting() != 2 {
		t.Errorf("who hung up in the queue got %v; %d wait, want 2", err, store.Waiting())
	}
	if err := end(nil); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-replies; err != nil {
			t.Error(err)
		}
	}
	if got := effects(t, path, "other"); got != 2 || records(t, path) != 3 {
		t.Errorf("%d effects and %d records, want 2 and 3", got, records(t, path))
	}
}

// TestClaimReadsAgain: the record that was committed while an attempt waited for the file is the answer; its work does not
// run.
func TestClaimReadsAgain(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{BusyTimeout: patience})
	tx, err := connect(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := joins(t.Context(), t, store, tx, "k", nil); err != nil {
		t.Fatal(err)
	}
	replied := make(chan error)
	go func() {
		result, err := engineOn(t, store, onceward.Options{}).Do(t.Context(), place.For(caller, "k", nil), func(context.Context, sqlstore.Tx) (onceward.Outcome, error) {
			return onceward.Outcome{}, errors.New("the work ran")
		})
		if err == nil && !result.Replayed {
			err = errors.New("it was no replay")
		}
		replied <- err
	}()
	until(t, "it has found no record and waits for the file", store.Busy)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-replied; err != nil {
		t.Error(err)
	}
}

// TestSaveMeetsARecord: the primary key decides, whoever has inserted the record.
func TestSaveMeetsARecord(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	engine := engineOn(t, store, onceward.Options{MemoryBytesMax: -1})
	command := place.For(caller, "k", nil)
	if _, err := engine.Do(t.Context(), command, writes("first")); err != nil {
		t.Fatal(err)
	}
	outside(t, path, "CREATE TABLE kept AS SELECT * FROM onceward_record")
	outside(t, path, "DELETE FROM onceward_record")
	_, err := engine.Do(t.Context(), command, func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		return onceward.Outcome{}, errors.Join(write(ctx, tx, "second"), execute(ctx, tx, "INSERT INTO onceward_record SELECT * FROM kept"))
	})
	if !errors.Is(err, onceward.ErrNotCommitted) || !errors.Is(err, onceward.ErrTaken) || records(t, path) != 0 || effects(t, path, "second") != 0 {
		t.Errorf("Do: %v; %d records, %d effects", err, records(t, path), effects(t, path, "second"))
	}
}

func TestQueueTimeout(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{QueueTimeout: 20 * time.Millisecond})
	end := hold(t, store, "held")
	engine := engineOn(t, store, onceward.Options{})
	command := place.For(caller, "other", nil)
	if _, err := engine.Do(t.Context(), command, writes("other")); !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("no turn in time: %v", err)
	}
	if err := end(nil); err != nil {
		t.Error(err)
	}
	if _, err := engine.Do(t.Context(), command, writes("other")); err != nil || effects(t, path, "other") != 1 {
		t.Errorf("after the holder: %v, %d effects", err, effects(t, path, "other"))
	}
}

// TestReplaysPassTheQueue: a record that stands is answered while a work of another command has the writer.
func TestReplaysPassTheQueue(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t, sqlitestore.Options{})
	command := place.For(caller, "done", nil)
	if _, err := engineOn(t, store, onceward.Options{}).Do(t.Context(), command, writes("done")); err != nil {
		t.Fatal(err)
	}
	end := hold(t, store, "held")
	result, err := engineOn(t, store, onceward.Options{}).Do(t.Context(), command, writes("done"))
	if err != nil || !result.Replayed || string(result.Outcome.Data) != "done" {
		t.Errorf("the replay: %+v, %v", result, err)
	}
	if err := end(nil); err != nil {
		t.Error(err)
	}
}

// TestF26_BusyIsUnavailable: the lock is taken at once and waited for; when it does not come the caller may come again.
func TestF26_BusyIsUnavailable(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{BusyTimeout: 20 * time.Millisecond})
	other, err := connect(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	engine := engineOn(t, store, onceward.Options{})
	command := place.For(caller, "k", nil)
	ran := false
	_, err = engine.Do(t.Context(), command, func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		ran = true
		return onceward.Outcome{}, write(ctx, tx, "k")
	})
	if !errors.Is(err, onceward.ErrUnavailable) || ran {
		t.Errorf("with the file locked: %v, work ran: %t", err, ran)
	}
	if _, err := store.Sweep(t.Context(), 0, 10); !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("Sweep with the file locked: %v", err)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Do(t.Context(), command, writes("k")); err != nil || effects(t, path, "k") != 1 {
		t.Errorf("with the file free: %v, %d effects", err, effects(t, path, "k"))
	}
}

// TestF26_BusyWaitEndsWithCaller: a caller that hangs up does not wait on, and the lock is not kept.
func TestF26_BusyWaitEndsWithCaller(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{BusyTimeout: patience})
	other, err := connect(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	engine := engineOn(t, store, onceward.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := engine.Do(ctx, place.For(caller, "k", nil), writes("k")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who hung up got %v", err)
	}
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Do(t.Context(), place.For(caller, "k", nil), writes("k")); err != nil || effects(t, path, "k") != 1 {
		t.Errorf("with the file free: %v, %d effects", err, effects(t, path, "k"))
	}
}

func TestCloseWaitsForTheAttempt(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	end := hold(t, store, "k")
	closed := make(chan error)
	go func() { closed <- store.Close() }()
	engine := engineOn(t, store, onceward.Options{})
	until(t, "new attempts are refused", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := engine.Do(ctx, place.For(caller, "late", nil), writes("late"))
		return errors.Is(err, onceward.ErrUnavailable)
	})
	if err := end(nil); err != nil {
		t.Errorf("the attempt that ran: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if effects(t, path, "k") != 1 || effects(t, path, "late") != 0 {
		t.Errorf("effects: k %d, late %d", effects(t, path, "k"), effects(t, path, "late"))
	}
	_, err := engine.Do(t.Context(), place.For(caller, "late", nil), writes("late"))
	_, found := engine.Find(t.Context(), place.For(caller, "late", nil))
	if !errors.Is(err, onceward.ErrUnavailable) || !errors.Is(found, onceward.ErrUnavailable) {
		t.Errorf("a closed store: Do %v, Find %v", err, found)
	}
}

// TestErrorsAreDiscreet: no key and no value is in an error.
func TestErrorsAreDiscreet(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{BusyTimeout: time.Millisecond})
	engine := engineOn(t, store, onceward.Options{})
	const secret = "s3cret"
	command := place.For(onceward.Scope{Tenant: secret, Principal: secret}, secret, secret)
	errs := []error{engine.Once(t.Context(), command, func(ctx context.Context, tx sqlstore.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO singular VALUES (?1), (?1)", secret)
		return err
	})}
	other, err := connect(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	errs = append(errs, engine.Once(t.Context(), command, nil))
	if err := other.Rollback(); err != nil {
		t.Fatal(err)
	}
	outside(t, path, "DROP TABLE onceward_record")
	errs = append(errs, engine.Once(t.Context(), command, nil))
	for i, err := range errs {
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("error %d: %v", i, err)
		}
	}
	if !errors.Is(errs[2], onceward.ErrSchema) || errors.Is(errs[2], onceward.ErrUnavailable) {
		t.Errorf("without a schema: %v", errs[2])
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	for name, c := range map[string]struct {
		path string
		o    sqlitestore.Options
	}{
		"no path":         {"", sqlitestore.Options{}},
		"memory":          {":memory:", sqlitestore.Options{}},
		"a URI":           {"file:x.db", sqlitestore.Options{}},
		"no directory":    {filepath.Join(dir, "no", "x.db"), sqlitestore.Options{}},
		"a directory":     {dir, sqlitestore.Options{}},
		"negative time":   {filepath.Join(dir, "x.db"), sqlitestore.Options{QueueTimeout: -1}},
		"negative length": {filepath.Join(dir, "x.db"), sqlitestore.Options{QueueMax: -1}},
	} {
		if store, err := sqlitestore.Open(t.Context(), c.path, c.o); err == nil {
			t.Errorf("%s: it opened", name)
			_ = store.Close()
		}
	}
}

// TestOpenWaits: where another process has the lock of a file that is not in WAL mode yet, SQLite itself does not wait.
func TestOpenWaits(t *testing.T) {
	t.Parallel()
	path := filepath.Join(tempDir(t), "new.db")
	outside(t, path, "CREATE TABLE effect (key TEXT NOT NULL, n INTEGER)")
	tx, err := connect(t, path).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 100 * time.Millisecond
	began := time.Now()
	if _, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{BusyTimeout: limit}); !errors.Is(err, onceward.ErrUnavailable) || time.Since(began) < limit {
		t.Errorf("Open of a locked file: %v after %v", err, time.Since(began))
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path, sqlitestore.Options{}).Migrate(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestConnections: what durability and integrity rest on holds for the writer.
func TestConnections(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t, sqlitestore.Options{})
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"}
	err := engineOn(t, store, onceward.Options{}).Once(t.Context(), place.For(caller, "k", nil), func(ctx context.Context, tx sqlstore.Tx) error {
		for pragma, want := range want {
			var got string
			if err := tx.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %q, %v; want %q", pragma, got, err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSuspectCommitIsOverwritten: after a commit that may lie in the log, the next attempt commits before it reads.
func TestSuspectCommitIsOverwritten(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	conn, err := connect(t, path).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	version := func() (n int) {
		if err := conn.QueryRowContext(t.Context(), "PRAGMA data_version").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	fails := func() {
		err := engineOn(t, store, onceward.Options{}).Once(t.Context(), place.For(caller, "k", nil), func(context.Context, sqlstore.Tx) error { return errWork })
		if !errors.Is(err, errWork) {
			t.Fatal(err)
		}
	}
	before := version()
	fails()
	if version() != before {
		t.Fatal("an attempt that was rolled back committed something")
	}
	if err := store.Suspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	fails()
	after := version()
	if after == before {
		t.Error("nothing was committed over the suspect end of the log")
	}
	if fails(); version() != after {
		t.Error("it was committed twice")
	}
}

// The application's own connection waits for a work's lock, and its rows are there for the next work.
func TestSourceIsForTheApplicationsOwnWrites(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	source, err := sqlitestore.Source(path)
	if err != nil {
		t.Fatal(err)
	}
	own, err := sql.Open("sqlite", source)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = own.Close() }()
	end, wrote := hold(t, store, "k"), make(chan error)
	go func() {
		_, err := own.ExecContext(t.Context(), "CREATE TABLE mine (id INTEGER PRIMARY KEY)")
		wrote <- err
	}()
	select {
	case err := <-wrote:
		t.Errorf("a write beside a work did not wait: %v", err)
	case <-time.After(20 * time.Millisecond): // it waits
	}
	if err := errors.Join(end(nil), <-wrote); err != nil {
		t.Fatal(err)
	}
	var synchronous int
	if err := own.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&synchronous); err != nil || synchronous != 2 {
		t.Errorf("synchronous is %d, %v; want FULL", synchronous, err)
	}
	if _, err := sqlitestore.Source(":memory:"); err == nil {
		t.Error("a database in memory has a source")
	}
}
