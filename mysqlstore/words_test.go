package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/sqlstore"
)

var (
	hasty   = &onceward.Operation{Name: "test.v1"}
	patient = &onceward.Operation{Name: "test.v1", Wait: onceward.WaitMax}
	alice   = onceward.Scope{Tenant: "acme", Principal: "alice"}
	done    = onceward.Outcome{Kind: "test", Data: []byte("done")}
	errWork = errors.New("the work failed")
)

func newEngine(t testing.TB, db *sql.DB) *onceward.Engine[sqlstore.Tx] {
	t.Helper()
	return engineOn(t, mysqlstore.New(db))
}

func engineOn(t testing.TB, store onceward.Store[sqlstore.Tx]) *onceward.Engine[sqlstore.Tx] {
	t.Helper()
	engine, err := onceward.New(store, onceward.Options{MemoryBytesMax: -1, FailUntouched: true})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// writes is a work with one effect under key.
func writes(key string) onceward.Work[sqlstore.Tx] {
	return func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) { return done, write(ctx, tx, key) }
}

// execute is a work's part that sends one statement.
func execute(ctx context.Context, tx sqlstore.Tx, query string, args ...any) error {
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

func (d *database) wantEffects(t testing.TB, key string, want int) {
	t.Helper()
	if got := d.effects(t, key); got != want {
		t.Errorf("effects under %q: %d, want %d", key, got, want)
	}
}

func (d *database) wantRecords(t testing.TB, want int) {
	t.Helper()
	if got := d.records(t); got != want {
		t.Errorf("records: %d, want %d", got, want)
	}
}

func wantError(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("the error is %v, want %v", got, want)
	}
}

// eventually waits for a state of the database to become true.
func (d *database) eventually(t testing.TB, condition string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); d.count(t, "SELECT "+condition, args...) == 0; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not become true that %s", condition)
		}
	}
}

// heldClaim is a claim of key whose work has written its effect and stands still until it is released.
func (d *database) heldClaim(t testing.TB, key string) (release func(error) error) {
	t.Helper()
	entered, ends, ended := make(chan struct{}), make(chan error, 1), make(chan error, 1)
	engine := newEngine(t, connect(t, d.url, nil))
	go func() {
		_, err := engine.Do(context.Background(), hasty.For(alice, key, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			err := write(ctx, tx, key)
			close(entered)
			return done, errors.Join(err, <-ends)
		})
		ended <- err
	}()
	select {
	case <-entered:
	case err := <-ended:
		t.Fatalf("the claim was not won: %v", err)
	}
	released := false
	release = func(err error) error {
		if released {
			return nil
		}
		released = true
		ends <- err
		return <-ended
	}
	t.Cleanup(func() { _ = release(errWork) })
	return release
}
