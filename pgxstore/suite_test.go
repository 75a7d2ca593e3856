package pgxstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/internal/features"
	"github.com/onceward/onceward/pgxstore"
	"github.com/onceward/onceward/storetest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestStore(t *testing.T) { features.Store(t, "pgxstore", harness) }

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, harness) }

// database is one test's database, with the table of effects.
type database struct {
	url  string
	pool *pgxpool.Pool
}

func newDatabase(t testing.TB) *database {
	t.Helper()
	return databaseAt(t, dbtest.Database(t))
}

func databaseAt(t testing.TB, url string) *database {
	t.Helper()
	d := &database{url: url}
	d.pool = connect(t, d.url, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["application_name"] = "test" })
	if err := pgxstore.Migrate(t.Context(), d.pool); err != nil {
		t.Fatal(err)
	}
	d.exec(t, "CREATE TABLE effect (key text NOT NULL)")
	return d
}

// connect makes a pool that change has configured. At the test's end all its connections are back.
func connect(t testing.TB, url string, change func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 8
	if change != nil {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		wantFree(t, pool)
		pool.Close()
	})
	return pool
}

// wantFree waits until the pool has all its connections back: one that was cut off is closed in the background.
func wantFree(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); pool.Stat().AcquiredConns() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d connections did not come back to the pool", pool.Stat().AcquiredConns())
		}
	}
}

func (d *database) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := d.pool.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (d *database) count(t testing.TB, sql string, args ...any) (n int) {
	t.Helper()
	if err := d.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
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

func write(ctx context.Context, tx pgx.Tx, key string) error {
	_, err := tx.Exec(ctx, "INSERT INTO effect (key) VALUES ($1)", key)
	return err
}

func harness(t testing.TB) storetest.Harness[pgx.Tx] {
	d := newDatabase(t)
	return d.harness(d.pool, dbtest.Shared(t).Addr(), func(t testing.TB) *pgxpool.Pool { return connect(t, d.url, nil) })
}

// harness is the suite's. The stores under test reach the database by pool, by what another makes, and, through a network
// that fails, at addr; what looks on reaches it directly.
func (d *database) harness(pool *pgxpool.Pool, addr string, another func(t testing.TB) *pgxpool.Pool) storetest.Harness[pgx.Tx] {
	return storetest.Harness[pgx.Tx]{
		Store:   pgxstore.New(pool),
		Another: func(t testing.TB) onceward.Store[pgx.Tx] { return pgxstore.New(another(t)) },
		Write:   write,
		Refused: func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT 1/0")
			return err
		},
		EndRaw: func(ctx context.Context, tx pgx.Tx, statement string) error {
			_, err := tx.Exec(ctx, statement)
			return err
		},
		Begin:   func(t testing.TB) (pgx.Tx, func() error, func() error) { return begin(t, pool) },
		Effects: d.effects,
		Records: d.records,
		Age: func(t testing.TB, by time.Duration) {
			d.exec(t, "UPDATE onceward_record SET created_at = created_at - $1::interval, expires_at = expires_at - $1::interval, kept_until = kept_until - $1::interval", by)
		},
		Lose:    func(t testing.TB, at storetest.LosePoint) onceward.Store[pgx.Tx] { return d.lose(t, addr, at) },
		Intrude: d.intrude,
	}
}

func (d *database) begin(t testing.TB) (pgx.Tx, func() error, func() error) {
	t.Helper()
	return begin(t, d.pool)
}

func begin(t testing.TB, pool *pgxpool.Pool) (pgx.Tx, func() error, func() error) {
	t.Helper()
	tx, err := pool.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx, func() error { return tx.Commit(context.Background()) }, func() error { return tx.Rollback(context.Background()) }
}

// lose is a store whose network fails once. Its statements are sent as text, which the proxy can find.
func (d *database) lose(t testing.TB, addr string, at storetest.LosePoint) onceward.Store[pgx.Tx] {
	t.Helper()
	proxy := dbtest.NewProxy(t, addr)
	proxy.Cut(map[storetest.LosePoint]dbtest.Fault{
		storetest.LoseInWork:       {On: "INTO effect", Moment: dbtest.Before},
		storetest.LoseBeforeCommit: {On: "INTO onceward_record", Moment: dbtest.Before},
		storetest.LoseAfterCommit:  {On: "INTO onceward_record", Moment: dbtest.Answered},
	}[at])
	return pgxstore.New(connect(t, proxy.URL(d.url), asText))
}

func asText(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec }

func (d *database) intrude(t testing.TB, r *onceward.Record) {
	t.Helper()
	d.exec(t, `INSERT INTO onceward_record (id, attempt, created_at, expires_at, kept_until, fingerprint_version, operation, tenant,
		principal, key, fingerprint_raw, fingerprint, state, outcome_kind, outcome)
		VALUES ($1, $2, now(), now() + $3::interval, now() + $3::interval + $4::interval, $5, $6, $7, $8, $9, $10, $11, 'completed', $12, $13)`,
		pgtype.UUID{Bytes: r.ID, Valid: true}, pgtype.UUID{Bytes: r.Attempt, Valid: true}, r.Life, r.Keep, int32(r.Fingerprint.Version),
		r.Operation, r.Scope.Tenant, r.Scope.Principal, r.Key, r.Fingerprint.Raw[:], r.Fingerprint.Canonical[:], r.Outcome.Kind, r.Outcome.Data)
}
