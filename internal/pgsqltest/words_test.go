package pgsqltest

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/pgsqlstore"
	"github.com/onceward/onceward/sqlstore"
)

var (
	hasty   = &onceward.Operation{Name: "test.v1"}
	patient = &onceward.Operation{Name: "test.v1", Wait: onceward.WaitMax}
	alice   = onceward.Scope{Tenant: "acme", Principal: "alice"}
	done    = onceward.Outcome{Kind: "test", Data: []byte("done")}
	errWork = errors.New("the work failed")
)

// withEach runs test with each driver, on a database of its own.
func withEach(t *testing.T, test func(t *testing.T, d *database)) {
	t.Parallel()
	for _, driver := range drivers {
		t.Run(driver.name, func(t *testing.T) {
			t.Parallel()
			test(t, newDatabase(t, driver.name))
		})
	}
}

func newEngine(t testing.TB, db *sql.DB) *onceward.Engine[sqlstore.Tx] {
	t.Helper()
	return engineOn(t, pgsqlstore.New(db))
}

func engineOn[Tx any](t testing.TB, store onceward.Store[Tx]) *onceward.Engine[Tx] {
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
func (d *database) eventually(t testing.TB, condition string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		var holds bool
		if err := d.db.QueryRowContext(context.Background(), "SELECT "+condition).Scan(&holds); err != nil {
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

// heldClaim lets another process's attempt hold the claim of key until the test's end, or until the function is called.
func (d *database) heldClaim(t testing.TB, key string) (release func(error)) {
	t.Helper()
	entered, end, ended := make(chan struct{}), make(chan error, 1), make(chan struct{})
	engine := newEngine(t, connect(t, d.driver, d.url))
	go func() {
		defer close(ended)
		_, _ = engine.Do(context.WithoutCancel(t.Context()), hasty.For(alice, key, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			err := write(ctx, tx, key)
			close(entered)
			return done, errors.Join(err, <-end)
		})
	}()
	<-entered
	release = func(err error) {
		select {
		case end <- err:
		default:
		}
		<-ended
	}
	t.Cleanup(func() { release(errWork) })
	return release
}
