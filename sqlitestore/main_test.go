package sqlitestore_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// patience bounds what a test waits for; it is never reached unless something is broken.
const patience = 30 * time.Second

var (
	place  = &onceward.Operation{Name: "place.v1"}
	waits  = &onceward.Operation{Name: "place.v1", Wait: patience}
	caller = onceward.Scope{Tenant: "acme", Principal: "alice"}
)

// tempDir is a directory in memory where there is one: most tests are not about the disk.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "sqlitestore")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// file is a file with an empty table of effects.
func file(t testing.TB) string {
	t.Helper()
	path := filepath.Join(tempDir(t), "shop ?#%41.db")
	store := open(t, path, sqlitestore.Options{})
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	outside(t, path, "CREATE TABLE effect (key TEXT NOT NULL, n INTEGER)")
	outside(t, path, "CREATE TABLE singular (key TEXT NOT NULL UNIQUE)")
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t testing.TB, path string, o sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	store, err := sqlitestore.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// fresh is a store on a file of its own.
func fresh(t testing.TB, o sqlitestore.Options) (*sqlitestore.Store, string) {
	t.Helper()
	path := file(t)
	return open(t, path, o), path
}

func engineOn(t testing.TB, store onceward.Store[sqlstore.Tx], o onceward.Options) *onceward.Engine[sqlstore.Tx] {
	t.Helper()
	engine, err := onceward.New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func uri(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// connect is a pool of the application's own on the file, which has nothing of the store's.
func connect(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", uri(path)+"?_busy_timeout=30000&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// outside runs a statement on a connection of its own.
func outside(t testing.TB, path, query string, args ...any) {
	t.Helper()
	db := connect(t, path)
	if _, err := db.ExecContext(context.Background(), query, args...); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// count is the one number of a query, read from outside.
func count(t testing.TB, path, query string, args ...any) (n int) {
	t.Helper()
	db := connect(t, path)
	if err := db.QueryRowContext(context.Background(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

func effects(t testing.TB, path, key string) int {
	t.Helper()
	return count(t, path, "SELECT count(*) FROM effect WHERE key = ?", key)
}

func records(t testing.TB, path string) int {
	t.Helper()
	return count(t, path, "SELECT count(*) FROM onceward_record")
}

func write(ctx context.Context, tx sqlstore.Tx, key string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effect (key) VALUES (?)", key)
	return err
}

// writes is a work with one effect under key.
func writes(key string) onceward.Work[sqlstore.Tx] {
	return func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		return onceward.Outcome{Kind: "test", Data: []byte(key)}, write(ctx, tx, key)
	}
}
