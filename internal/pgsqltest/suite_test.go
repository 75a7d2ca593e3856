package pgsqltest

import (
	"context"
	"database/sql"
	"encoding/hex"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/internal/features"
	"github.com/onceward/onceward/pgsqlstore"
	"github.com/onceward/onceward/sqlstore"
	"github.com/onceward/onceward/storetest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// drivers are the drivers that the store is tested with, as database/sql names them, and how they are told to send their
// statements as text, which a faulty network can find.
var drivers = []struct{ name, asText string }{
	{"pgx", "&default_query_exec_mode=exec"},
	{"postgres", ""}, // lib/pq
}

func TestStore(t *testing.T) {
	features.Store(t, "pgsqlstore", harness("pgx", "&default_query_exec_mode=exec"))
}

// TestStoreLibPQ is the same again with the other driver.
func TestStoreLibPQ(t *testing.T) { storetest.Run[sqlstore.Tx](t, harness("postgres", "")) }

func BenchmarkStore(b *testing.B) {
	for _, driver := range drivers {
		b.Run(driver.name, func(b *testing.B) {
			storetest.Benchmark(b, harness(driver.name, driver.asText))
		})
	}
}

// database is one test's database, with the table of effects.
type database struct {
	url, driver string
	db          *sql.DB
}

func newDatabase(t testing.TB, driver string) *database {
	t.Helper()
	return databaseAt(t, driver, dbtest.Database(t))
}

func databaseAt(t testing.TB, driver, url string) *database {
	t.Helper()
	d := &database{url: url, driver: driver}
	d.db = connect(t, driver, url)
	if err := pgsqlstore.Migrate(t.Context(), d.db); err != nil {
		t.Fatal(err)
	}
	d.exec(t, "CREATE TABLE effect (key text NOT NULL)")
	return d
}

// connect makes a pool. At the test's end all its connections are back.
func connect(t testing.TB, driver, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	t.Cleanup(func() {
		wantFree(t, db)
		_ = db.Close()
	})
	return db
}

// wantFree waits until the pool has all its connections back: one that was cut off is closed in the background.
func wantFree(t testing.TB, db *sql.DB) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); db.Stats().InUse != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections did not come back to the pool", db.Stats().InUse)
		}
	}
}

func (d *database) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := d.db.ExecContext(context.Background(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func (d *database) count(t testing.TB, query string, args ...any) (n int) {
	t.Helper()
	if err := d.db.QueryRowContext(context.Background(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (d *database) effects(t testing.TB, key string) int {
	t.Helper()
	return d.count(t, "SELECT count(*) FROM effect WHERE key = $1", key)
}

func (d *database) records(t testing.TB) int {
	t.Helper()
	return d.count(t, "SELECT count(*) FROM onceward_record")
}

func write(ctx context.Context, tx sqlstore.Tx, key string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effect (key) VALUES ($1)", key)
	return err
}

// harness is the suite's, through a driver.
func harness(driver, asText string) func(testing.TB) storetest.Harness[sqlstore.Tx] {
	return func(t testing.TB) storetest.Harness[sqlstore.Tx] { return newDatabase(t, driver).harness(asText) }
}

func (d *database) harness(asText string) storetest.Harness[sqlstore.Tx] {
	return storetest.Harness[sqlstore.Tx]{
		Store:   pgsqlstore.New(d.db),
		Another: func(t testing.TB) onceward.Store[sqlstore.Tx] { return pgsqlstore.New(connect(t, d.driver, d.url)) },
		Write:   write,
		Refused: execute("SELECT 1/0"),
		EndRaw: func(ctx context.Context, tx sqlstore.Tx, statement string) error {
			return execute(statement)(ctx, tx)
		},
		Begin:   d.begin,
		Effects: d.effects,
		Records: d.records,
		Age: func(t testing.TB, by time.Duration) {
			d.exec(t, `UPDATE onceward_record SET created_at = created_at - $1 * interval '1 microsecond',
				expires_at = expires_at - $1 * interval '1 microsecond', kept_until = kept_until - $1 * interval '1 microsecond'`, by.Microseconds())
		},
		Lose:    func(t testing.TB, at storetest.LosePoint) onceward.Store[sqlstore.Tx] { return d.lose(t, asText, at) },
		Intrude: d.intrude,
	}
}

func execute(statement string, args ...any) func(context.Context, sqlstore.Tx) error {
	return func(ctx context.Context, tx sqlstore.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	}
}

func (d *database) begin(t testing.TB) (sqlstore.Tx, func() error, func() error) {
	t.Helper()
	tx, err := d.db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx, tx.Commit, tx.Rollback
}

// commit is a COMMIT on the wire, as a whole message; a level of BEGIN and a key of the suite are of that word too.
const commit = "Q\x00\x00\x00\x0bCOMMIT\x00"

// lose is a store whose network fails once.
func (d *database) lose(t testing.TB, asText string, at storetest.LosePoint) onceward.Store[sqlstore.Tx] {
	t.Helper()
	proxy := dbtest.NewProxy(t, dbtest.Shared(t).Addr())
	proxy.Cut(map[storetest.LosePoint]dbtest.Fault{
		storetest.LoseInWork:       {On: "INTO effect", Moment: dbtest.Before},
		storetest.LoseBeforeCommit: {On: commit, Moment: dbtest.Before},
		storetest.LoseAfterCommit:  {On: commit, Moment: dbtest.Answered},
	}[at])
	return pgsqlstore.New(connect(t, d.driver, proxy.URL(d.url)+asText))
}

func (d *database) intrude(t testing.TB, r *onceward.Record) {
	t.Helper()
	d.exec(t, `INSERT INTO onceward_record (id, attempt, created_at, expires_at, kept_until, fingerprint_version, operation, tenant,
		principal, key, fingerprint_raw, fingerprint, state, outcome_kind, outcome)
		VALUES ($1, $2, now(), now() + $3 * interval '1 microsecond', now() + $4 * interval '1 microsecond', $5, $6, $7, $8, $9, $10, $11, 'completed', $12, $13)`,
		hex.EncodeToString(r.ID[:]), hex.EncodeToString(r.Attempt[:]), r.Life.Microseconds(), (r.Life + r.Keep).Microseconds(), int64(r.Fingerprint.Version),
		r.Operation, r.Scope.Tenant, r.Scope.Principal, r.Key, r.Fingerprint.Raw[:], r.Fingerprint.Canonical[:], r.Outcome.Kind, r.Outcome.Data)
}
