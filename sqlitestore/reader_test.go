package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

func TestReaderReads(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t, sqlitestore.Options{})
	if _, err := engineOn(t, store, onceward.Options{}).Do(t.Context(), place.For(caller, "k", nil), writes("k")); err != nil {
		t.Fatal(err)
	}
	ctx, db := t.Context(), store.Reader()
	var key string
	if err := db.QueryRowContext(ctx, "SELECT key FROM effect").Scan(&key); err != nil || key != "k" {
		t.Errorf("read %q, %v", key, err)
	}
	for _, statement := range []string{"INSERT INTO effect (key) VALUES ('x')", "CREATE TABLE x (y)", "DELETE FROM effect"} {
		if _, err := db.ExecContext(ctx, statement); err == nil {
			t.Errorf("%s: it was not refused", statement)
		}
	}
	statement, err := db.PrepareContext(ctx, "SELECT key FROM effect WHERE key = ?")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = statement.Close() }()
	rows, err := statement.QueryContext(ctx, "k")
	if err != nil || !rows.Next() {
		t.Fatalf("a prepared query: %v", err)
	}
	if types, err := rows.ColumnTypes(); err != nil || types[0].DatabaseTypeName() != "TEXT" || types[0].ScanType() == nil {
		t.Errorf("column types: %v, %v", types, err)
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
}

// ends are the ways to keep a read open.
var ends = map[string]func(ctx context.Context, db *sql.DB) (end func() error, err error){
	"a slow query": func(ctx context.Context, db *sql.DB) (func() error, error) {
		return func() error { return db.QueryRowContext(ctx, slowSelect).Err() }, nil
	},
	"rows": func(ctx context.Context, db *sql.DB) (func() error, error) {
		rows, err := db.QueryContext(ctx, "SELECT 1 FROM effect")
		if err != nil || !rows.Next() {
			return nil, errors.Join(err, errors.New("no rows"))
		}
		return func() error {
			for rows.Next() {
			}
			return errors.Join(rows.Err(), rows.Close())
		}, nil
	},
	"rows of a prepared statement": func(ctx context.Context, db *sql.DB) (func() error, error) {
		statement, err := db.PrepareContext(ctx, "SELECT 1 FROM effect")
		if err != nil {
			return nil, err
		}
		rows, err := statement.QueryContext(ctx)
		if err != nil || !rows.Next() {
			return nil, errors.Join(err, errors.New("no rows"))
		}
		return func() error {
			for rows.Next() {
			}
			return errors.Join(rows.Err(), rows.Close(), statement.Close())
		}, nil
	},
	"a transaction": func(ctx context.Context, db *sql.DB) (func() error, error) {
		tx, err := db.BeginTx(ctx, nil)
		if err == nil {
			err = tx.QueryRowContext(ctx, "SELECT count(*) FROM effect").Err()
		}
		if err != nil {
			return nil, err
		}
		return func() error {
			if _, err := tx.QueryContext(ctx, "SELECT 1"); !errors.Is(err, sqlitestore.ErrReadTimeout) {
				return errors.Join(err, errors.New("the transaction read on"))
			}
			return tx.Commit()
		}, nil
	},
}

// emptyLog empties the write-ahead log, if no read keeps it.
func emptyLog(t *testing.T, path string) bool {
	t.Helper()
	db, err := sql.Open("sqlite", uri(path)) // which does not wait
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var busy, pages, moved int
	if err := db.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil {
		t.Fatal(err)
	}
	return busy == 0
}

// TestReaderIsBounded: the log is emptied although a read was never ended, and the read is told.
func TestReaderIsBounded(t *testing.T) {
	t.Parallel()
	for name, open := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, path := fresh(t, sqlitestore.Options{ReadTimeout: 50 * time.Millisecond, Readers: 1})
			outside(t, path, "INSERT INTO effect (key) VALUES ('a'), ('b'), ('c')")
			end, err := open(t.Context(), store.Reader())
			if err != nil {
				t.Fatal(err)
			}
			outside(t, path, "INSERT INTO effect (key) VALUES ('d')")
			until(t, "the log can be emptied", func() bool { return emptyLog(t, path) })
			if err := end(); !errors.Is(err, sqlitestore.ErrReadTimeout) {
				t.Errorf("the read ended with %v", err)
			}
			until(t, "the next read reads", func() bool { // a busy machine may take longer than the bound
				var n int
				err := store.Reader().QueryRowContext(t.Context(), "SELECT count(*) FROM effect").Scan(&n)
				return err == nil && n == 4
			})
		})
	}
}

// TestReaderEndsInTime: what ends by itself is not disturbed, and the time counts anew.
func TestReaderEndsInTime(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{ReadTimeout: 300 * time.Millisecond, Readers: 1})
	outside(t, path, "INSERT INTO effect (key) VALUES ('a'), ('b'), ('c')")
	for began := time.Now(); time.Since(began) < time.Second; {
		tx, err := store.Reader().BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var n int
		if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM effect").Scan(&n); err != nil || n != 3 {
			t.Fatalf("%d, %v", n, err)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReaderStatementClosedUnderItsRows: database/sql closes a transaction's statement at once, and the driver would
// crash the process.
func TestReaderStatementClosedUnderItsRows(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	outside(t, path, "INSERT INTO effect (key) VALUES ('a'), ('b'), ('c')")
	tx, err := store.Reader().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		statement, err := tx.PrepareContext(t.Context(), "SELECT key FROM effect WHERE key > ?")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := statement.QueryContext(t.Context(), "")
		if err != nil || !rows.Next() {
			t.Fatal(err)
		}
		if err := statement.Close(); err != nil {
			t.Error(err)
		}
		for rows.Next() {
		}
		if err := errors.Join(rows.Err(), rows.Close()); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("the rows ended with %v", err)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// TestLogBeginsAnew: under a read that nobody ends the log grows with each write, but only until the read's time is up.
func TestLogBeginsAnew(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{ReadTimeout: 200 * time.Millisecond})
	outside(t, path, "INSERT INTO effect (key) VALUES ('a'), ('b')")
	until(t, "a read is open", func() bool { // a busy machine may take longer than the bound
		rows, err := store.Reader().QueryContext(t.Context(), "SELECT key FROM effect")
		return err == nil && rows.Next()
	})
	engine := engineOn(t, store, onceward.Options{MemoryBytesMax: -1})
	const enough = 40 // writes of 200 kB: twice what SQLite lets the log grow to by itself
	var size int64
	for i, steady := 0, 0; steady < enough; i++ {
		if i == 1000 {
			t.Fatalf("the log has grown to %d MB and still grows", size>>20)
		}
		_, err := engine.Do(t.Context(), place.For(caller, strconv.Itoa(i), nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			return onceward.Outcome{Data: make([]byte, 200_000)}, write(ctx, tx, "k")
		})
		if err != nil {
			t.Fatal(err)
		}
		log, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		if steady++; log.Size() > size {
			steady = 0
		}
		size = log.Size()
	}
}
