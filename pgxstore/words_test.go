package pgxstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/pgxstore"
)

var (
	hasty   = &onceward.Operation{Name: "test.v1"}
	patient = &onceward.Operation{Name: "test.v1", Wait: onceward.WaitMax}
	alice   = onceward.Scope{Tenant: "acme", Principal: "alice"}
	done    = onceward.Outcome{Kind: "test", Data: []byte("done")}
	errWork = errors.New("the work failed")
)

func newEngine(t testing.TB, pool *pgxpool.Pool) *onceward.Engine[pgx.Tx] {
	t.Helper()
	return engineOn(t, pgxstore.New(pool))
}

func engineOn(t testing.TB, store onceward.Store[pgx.Tx]) *onceward.Engine[pgx.Tx] {
	t.Helper()
	engine, err := onceward.New(store, onceward.Options{MemoryBytesMax: -1, FailUntouched: true})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// writes is a work with one effect under key.
func writes(key string) onceward.Work[pgx.Tx] {
	return func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) { return done, write(ctx, tx, key) }
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

// eventually waits for the state of the database to become true.
func (d *database) eventually(t testing.TB, condition string, args ...any) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		var holds bool
		if err := d.pool.QueryRow(context.Background(), "SELECT "+condition, args...).Scan(&holds); err != nil {
			t.Fatalf("%s: %v", condition, err)
		}
		if holds {
			return
		}
	}
	t.Fatalf("it did not become true that %s", condition)
}

// What eventually is asked about the sessions of this test's database, the asking one apart.
const (
	waitsForLock   = `EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted)`
	nothingIsHeld  = `NOT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.datname = current_database() AND l.locktype = 'advisory')`
	nothingIsOpen  = `NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL)`
	sleepsInAQuery = `EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')`
)
