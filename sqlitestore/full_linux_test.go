package sqlitestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// large is a work whose row takes 40 pages.
func large(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
	_, err := tx.ExecContext(ctx, "INSERT INTO effect (key, n) VALUES (?, 0)", strings.Repeat("x", 160_000))
	return onceward.Outcome{Data: make([]byte, 1000)}, err
}

// fillUp sends commands until one fails for want of room and returns its key.
func fillUp(t *testing.T, engine *onceward.Engine[sqlstore.Tx], path string) (key string) {
	t.Helper()
	for i := range 1000 {
		key := strconv.Itoa(i)
		_, err := engine.Do(t.Context(), place.For(caller, key, nil), large)
		if err == nil {
			continue
		}
		if !errors.Is(err, onceward.ErrUnavailable) {
			t.Errorf("without room: %v, want ErrUnavailable", err)
		}
		if got := count(t, path, "SELECT count(*) FROM effect"); got != i || records(t, path) != i {
			t.Errorf("%d effects and %d records, want %d of both", got, records(t, path), i)
		}
		return key
	}
	t.Fatal("it never ran out of room")
	return ""
}

// goesOn has the failed command succeed, now that there is room.
func goesOn(t *testing.T, engine *onceward.Engine[sqlstore.Tx], path, key string) {
	t.Helper()
	before := records(t, path)
	if _, err := engine.Do(t.Context(), place.For(caller, key, nil), large); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if got := count(t, path, "SELECT count(*) FROM effect"); got != before+1 || records(t, path) != before+1 {
		t.Errorf("%d effects and %d records, want %d of both", got, records(t, path), before+1)
	}
	if count(t, path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") != 0 {
		t.Error("the file is damaged")
	}
}

// TestFullFile: the room ends in a statement, which the work does not notice or does.
func TestFullFile(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	engine := engineOn(t, store, onceward.Options{MemoryBytesMax: -1})
	if err := store.PagesMax(t.Context(), 400); err != nil {
		t.Fatal(err)
	}
	key := fillUp(t, engine, path)
	_, err := engine.Do(t.Context(), place.For(caller, key, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		_, _ = large(ctx, tx)
		return onceward.Outcome{}, nil
	})
	if err == nil { // SQLite gave up the statement alone
		t.Log("the statement alone was given up")
	} else if !errors.Is(err, onceward.ErrNotCommitted) {
		t.Errorf("a work that swallows the error: %v", err)
	}
	if err := store.PagesMax(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	goesOn(t, engine, path, "another")
}

// TestFullDisk: the room ends anywhere, in the commit's write to the log above all, on a file system of 4 MB.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("onceward-test", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("a small file system needs root: %v; TestFullFile covers a full file", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	path := filepath.Join(dir, "shop.db")
	store := open(t, path, sqlitestore.Options{})
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	outside(t, path, "CREATE TABLE effect (key TEXT NOT NULL, n INTEGER)")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	engine := engineOn(t, store, onceward.Options{MemoryBytesMax: -1})
	key := fillUp(t, engine, path)
	for range 3 {
		if _, err := engine.Do(t.Context(), place.For(caller, key, nil), large); !errors.Is(err, onceward.ErrUnavailable) {
			t.Errorf("again without room: %v", err)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	goesOn(t, engine, path, key)
}
