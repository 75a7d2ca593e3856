package mysqlstore_test

import (
	"context"
	"database/sql"
	"io"
	"log"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/internal/features"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/sqlstore"
	"github.com/onceward/onceward/storetest"
)

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(log.New(io.Discard, "", 0)) // of each connection that a test breaks
	dbtest.Main(m)
}

// lacks: the claim is the record's own row, so that it cannot fail where the key would still decide.
var lacks = []storetest.Feature{storetest.Arbiter}

func TestStore(t *testing.T) { features.Store(t, "mysqlstore", harness(nil), lacks...) }

// TestStoreOneByOne is the same again with a plain data source name, as the driver's manual has it: each statement is a round
// trip, and those with arguments are prepared.
func TestStoreOneByOne(t *testing.T) { storetest.Run[sqlstore.Tx](t, harness(plain), lacks...) }

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, harness(nil)) }

func plain(c *mysql.Config) { c.MultiStatements, c.InterpolateParams = false, false }

// database is one test's database, with the table of effects.
type database struct {
	url string
	db  *sql.DB
}

func newDatabase(t testing.TB) *database {
	t.Helper()
	return databaseAt(t, dbtest.MariaDBDatabase(t))
}

func databaseAt(t testing.TB, url string) *database {
	t.Helper()
	d := &database{url: url}
	d.db = connect(t, d.url, nil)
	if err := mysqlstore.Migrate(t.Context(), d.db); err != nil {
		t.Fatal(err)
	}
	d.exec(t, "CREATE TABLE effect (`key` VARBINARY(600) NOT NULL) ENGINE = InnoDB")
	return d
}

// connect makes a pool that change has configured. At the test's end all its connections are back.
func connect(t testing.TB, url string, change func(*mysql.Config)) *sql.DB {
	t.Helper()
	config, err := mysqlstore.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(config)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
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
	return d.count(t, "SELECT count(*) FROM effect WHERE `key` = ?", key)
}

func (d *database) records(t testing.TB) int {
	t.Helper()
	return d.count(t, "SELECT count(*) FROM onceward_record")
}

func write(ctx context.Context, tx sqlstore.Tx, key string) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO effect (`key`) VALUES (?)", key)
	return err
}

func harness(change func(*mysql.Config)) func(t testing.TB) storetest.Harness[sqlstore.Tx] {
	commit := commitAmong
	if change != nil {
		commit = commitAlone
	}
	return func(t testing.TB) storetest.Harness[sqlstore.Tx] {
		return harnessAt(dbtest.SharedMariaDB(t), change, commit)(t)
	}
}

// harnessAt is a harness at a server, where the packet that commits has commit in it.
func harnessAt(server *dbtest.MariaDB, change func(*mysql.Config), commit string) func(t testing.TB) storetest.Harness[sqlstore.Tx] {
	return func(t testing.TB) storetest.Harness[sqlstore.Tx] {
		d := databaseAt(t, server.Database(t))
		return storetest.Harness[sqlstore.Tx]{
			Store:   mysqlstore.New(connect(t, d.url, change)),
			Another: func(t testing.TB) onceward.Store[sqlstore.Tx] { return mysqlstore.New(connect(t, d.url, change)) },
			Write:   write,
			Refused: func(ctx context.Context, tx sqlstore.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT INTO effect (`key`) VALUES (NULL)")
				return err
			},
			EndRaw: func(ctx context.Context, tx sqlstore.Tx, statement string) error {
				_, err := tx.ExecContext(ctx, statement)
				return err
			},
			Begin:   d.begin,
			Effects: d.effects,
			Records: d.records,
			Age: func(t testing.TB, by time.Duration) {
				d.exec(t, "UPDATE onceward_record SET created_at = created_at - INTERVAL ? MICROSECOND, expires_at = expires_at - INTERVAL ? MICROSECOND, kept_until = kept_until - INTERVAL ? MICROSECOND",
					by.Microseconds(), by.Microseconds(), by.Microseconds())
			},
			Lose: func(t testing.TB, at storetest.LosePoint) onceward.Store[sqlstore.Tx] {
				return d.lose(t, server.Addr(), at, change, commit)
			},
		}
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

// lose is a store whose network fails once.
func (d *database) lose(t testing.TB, addr string, at storetest.LosePoint, change func(*mysql.Config), commit string) onceward.Store[sqlstore.Tx] {
	t.Helper()
	proxy := dbtest.NewProxy(t, addr)
	db := connect(t, proxy.URL(d.url), change)
	if err := mysqlstore.Check(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	proxy.Cut(map[storetest.LosePoint]dbtest.Fault{
		storetest.LoseInWork:       {On: "INTO effect", Moment: dbtest.Before},
		storetest.LoseBeforeCommit: {On: commit, Moment: dbtest.Before},
		storetest.LoseAfterCommit:  {On: commit, Moment: dbtest.Answered},
	}[at])
	return mysqlstore.New(db)
}

// What the packet that commits has in it and no other: among several statements, or behind the byte that says it is a query.
const (
	commitAmong = ";\nCOMMIT"
	commitAlone = "\x03COMMIT"
)

func (d *database) text(t testing.TB, query string, args ...any) string {
	t.Helper()
	return text(t, d.db, query, args...)
}

func text(t testing.TB, db *sql.DB, query string, args ...any) (text string) {
	t.Helper()
	if err := db.QueryRowContext(context.Background(), query, args...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return text
}

// settings are a connection's, as far as the store touches them.
func settings(t testing.TB, db *sql.DB) string {
	t.Helper()
	return text(t, db, "SELECT CONCAT_WS(' ', @@idle_transaction_timeout, @@innodb_lock_wait_timeout, @@tx_isolation, @@autocommit, @@in_transaction)")
}

func storeOn(db *sql.DB) onceward.Store[sqlstore.Tx] { return mysqlstore.New(db) }
