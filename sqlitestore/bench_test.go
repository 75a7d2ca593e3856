package sqlitestore_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// onDisk is a store on a file that is on the disk: a commit is an fsync.
func onDisk(b *testing.B) (*sqlitestore.Store, string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bench.db")
	store := open(b, path, sqlitestore.Options{})
	if err := store.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	outside(b, path, "CREATE TABLE orders (id TEXT PRIMARY KEY, sku TEXT NOT NULL, quantity INTEGER NOT NULL) WITHOUT ROWID")
	return store, path
}

const insertOrder = "INSERT INTO orders (id, sku, quantity) VALUES (?, 'BOOK', 2)"

func order(key string) onceward.Work[sqlstore.Tx] {
	return func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		_, err := tx.ExecContext(ctx, insertOrder, key)
		return onceward.Outcome{Kind: "http", Data: make([]byte, 300)}, err
	}
}

// BenchmarkDo is one order after the other.
func BenchmarkDo(b *testing.B) {
	store, _ := onDisk(b)
	engine := engineOn(b, store, onceward.Options{MemoryBytesMax: -1})
	for n := 0; b.Loop(); n++ {
		key := strconv.Itoa(n)
		if _, err := engine.Do(b.Context(), place.For(caller, key, nil), order(key)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDo32 is 32 callers that wait for the writer.
func BenchmarkDo32(b *testing.B) {
	store, _ := onDisk(b)
	engine := engineOn(b, store, onceward.Options{MemoryBytesMax: -1})
	var next, left atomic.Int64
	left.Store(int64(b.N))
	var callers sync.WaitGroup
	b.ResetTimer()
	for range 32 {
		callers.Go(func() {
			for left.Add(-1) >= 0 {
				key := strconv.FormatInt(next.Add(1), 10)
				if _, err := engine.Do(b.Context(), place.For(caller, key, nil), order(key)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// BenchmarkBare is what the caller would do without onceward: the same order in a transaction of its own.
func BenchmarkBare(b *testing.B) {
	_, path := onDisk(b)
	db, err := sql.Open("sqlite", uri(path)+"?_txlock=immediate&_synchronous=FULL")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	for n := 0; b.Loop(); n++ {
		tx, err := db.BeginTx(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := tx.ExecContext(b.Context(), insertOrder, strconv.Itoa(n)); err != nil {
			b.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay is a retry that the record answers.
func BenchmarkReplay(b *testing.B) {
	store, _ := onDisk(b)
	engine := engineOn(b, store, onceward.Options{MemoryBytesMax: -1})
	for b.Loop() {
		if _, err := engine.Do(b.Context(), place.For(caller, "k", nil), order("k")); err != nil {
			b.Fatal(err)
		}
	}
}
