package proofs

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql on PostgreSQL, for the tests' own eyes

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/shop"
)

// database is what a test sees and does beside the servers.
type database struct {
	t    *testing.T
	kind shop.Kind
	name string // as the demo takes it
	eyes *sql.DB
}

// onBoth runs a test on a PostgreSQL database and on a SQLite file of its own.
func onBoth(t *testing.T, test func(t *testing.T, db *database)) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, onPostgres(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, onSQLite(t))
	})
}

func onPostgres(t *testing.T) *database { return look(t, shop.KindPostgres, dbtest.Database(t)) }

func onMariaDB(t *testing.T) *database { return look(t, shop.KindMySQL, dbtest.MariaDBDatabase(t)) }

func onSQLite(t *testing.T) *database {
	return look(t, shop.KindSQLite, filepath.Join(t.TempDir(), "shop.db"))
}

func look(t *testing.T, kind shop.Kind, name string) *database {
	driver, source := "sqlite", "file:"+name+"?_busy_timeout=10000"
	switch kind {
	case shop.KindPostgres:
		driver, source = "pgx", name
	case shop.KindMySQL:
		driver, source = "mysql", must(mysqlstore.ParseURL(name))(t).FormatDSN()
	}
	eyes := must(sql.Open(driver, source))(t)
	t.Cleanup(func() { _ = eyes.Close() })
	return &database{t, kind, name, eyes}
}

func (db *database) postgres() bool { return db.kind == shop.KindPostgres }

// named is the PostgreSQL database for a process of that name, by which pg_stat_activity knows it. More are parameters.
func (db *database) named(process string, more ...string) string {
	u := must(url.Parse(db.name))(db.t)
	query := u.Query()
	query.Set("application_name", process)
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	u.RawQuery = query.Encode()
	return u.String()
}

func (db *database) exec(statement string) {
	db.t.Helper()
	if _, err := db.eyes.ExecContext(context.Background(), statement); err != nil {
		db.t.Fatalf("%s: %v", statement, err)
	}
}

func (db *database) number(query string) (n int) {
	db.t.Helper()
	if err := db.eyes.QueryRowContext(context.Background(), query).Scan(&n); err != nil {
		db.t.Fatalf("%s: %v", query, err)
	}
	return n
}

func (db *database) orders() int { db.t.Helper(); return db.number("SELECT count(*) FROM orders") }
func (db *database) records() int {
	db.t.Helper()
	return db.number("SELECT count(*) FROM onceward_record")
}

// wantRows counts the effects, and the records beside them.
func (db *database) wantRows(orders, records int) {
	db.t.Helper()
	if gotOrders, gotRecords := db.orders(), db.records(); gotOrders != orders || gotRecords != records {
		db.t.Errorf("the database has %d orders and %d records, want %d and %d", gotOrders, gotRecords, orders, records)
	}
}

// hold keeps everybody from inserting orders until release is called: a first attempt stands still in its work, its claim held.
// On SQLite it is the whole file that nobody else can write.
func (db *database) hold() (release func()) {
	db.t.Helper()
	conn := must(db.eyes.Conn(context.Background()))(db.t)
	begin := []string{"BEGIN IMMEDIATE"}
	if db.postgres() {
		begin = []string{"BEGIN", "LOCK TABLE orders IN EXCLUSIVE MODE"}
	}
	for _, statement := range begin {
		if _, err := conn.ExecContext(context.Background(), statement); err != nil {
			db.t.Fatal(err)
		}
	}
	released := false
	release = func() {
		if !released {
			released = true
			_, _ = conn.ExecContext(context.Background(), "ROLLBACK")
			_ = conn.Close()
		}
	}
	db.t.Cleanup(release)
	return release
}

// failing makes the database refuse orders of 13 pieces, after they were inserted, until heal is called.
func (db *database) failing() (heal func()) {
	db.t.Helper()
	if db.postgres() {
		db.exec(`CREATE FUNCTION proof_fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused by the proof'; END $$`)
		db.exec(`CREATE TRIGGER proof_fail AFTER INSERT ON orders FOR EACH ROW WHEN (NEW.quantity = 13) EXECUTE FUNCTION proof_fail()`)
		return func() { db.exec(`DROP TRIGGER proof_fail ON orders`) }
	}
	db.exec(`CREATE TRIGGER proof_fail AFTER INSERT ON orders WHEN NEW.quantity = 13 BEGIN SELECT RAISE(ABORT, 'refused by the proof'); END`)
	return func() { db.exec(`DROP TRIGGER proof_fail`) }
}

// awaitLocks waits until so many backends of this PostgreSQL database wait for a lock of that type.
func (db *database) awaitLocks(kind string, n int) {
	db.t.Helper()
	until(db.t, fmt.Sprintf("%d backends wait for a lock of type %s", n, kind), func() bool { return db.lockWaits(kind) >= n })
}

func (db *database) lockWaits(kind string) int {
	db.t.Helper()
	return db.number(`SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = '` + kind + `'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
}

// wantQuiet waits until no process is in a transaction, and checks that no claim is left.
func (db *database) wantQuiet() {
	db.t.Helper()
	if !db.postgres() {
		return // the next write tells
	}
	until(db.t, "no backend is in a transaction", func() bool {
		return db.number(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
			AND state <> 'idle'`) == 0
	})
	if n := db.number(`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); n != 0 {
		db.t.Errorf("%d claims are left", n)
	}
}
