package shop

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql on PostgreSQL, for the tests' own eyes

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/pgxstore"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

const (
	alice = "demo-acme-alice"
	bob   = "demo-acme-bob"
	carol = "demo-globex-carol"
)

// patience bounds every wait of a test for something that is to happen at once.
const patience = time.Minute

// onEach runs a test on a PostgreSQL database, on a MariaDB database and on a SQLite file of its own.
func onEach(t *testing.T, test func(t *testing.T, db *database)) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, look(t, KindPostgres, dbtest.Database(t)))
	})
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		test(t, look(t, KindMySQL, dbtest.MariaDBDatabase(t)))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, look(t, KindSQLite, filepath.Join(t.TempDir(), "shop.db")))
	})
}

// database is what a test sees of it, beside the shop.
type database struct {
	t    *testing.T
	kind Kind
	name string
	db   *sql.DB
}

func look(t *testing.T, kind Kind, name string) *database {
	driver, source := "sqlite", "file:"+name+"?_busy_timeout=5000&_txlock=immediate"
	switch kind {
	case KindPostgres:
		driver, source = "pgx", name
	case KindMySQL:
		driver, source = "mysql", must(mysqlstore.ParseURL(name))(t).FormatDSN()
	}
	db := must(sql.Open(driver, source))(t)
	t.Cleanup(func() { _ = db.Close() })
	return &database{t, kind, name, db}
}

// exec changes rows behind the shop's back and returns how many.
func (d *database) exec(query string) int64 {
	d.t.Helper()
	return must(must(d.db.ExecContext(d.t.Context(), query))(d.t).RowsAffected())(d.t)
}

func (d *database) count(from string) (n int) {
	d.t.Helper()
	if err := d.db.QueryRowContext(d.t.Context(), "SELECT count(*) FROM "+from).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// wantRows checks the effects, in the tables.
func (d *database) wantRows(orders, records int) {
	d.t.Helper()
	if gotOrders, gotRecords := d.count("orders"), d.count(recordTable); gotOrders != orders || gotRecords != records {
		d.t.Errorf("the tables have %d orders and %d records, want %d and %d", gotOrders, gotRecords, orders, records)
	}
}

// expire ends all records' lives, long ago.
func (d *database) expire() {
	d.t.Helper()
	past := "1"
	if d.kind != KindSQLite {
		past = "'2000-01-01'"
	}
	if d.exec("UPDATE "+recordTable+" SET expires_at = "+past+", kept_until = "+past) == 0 {
		d.t.Fatal("there is no record to expire")
	}
}

// gate stops the shop's inserts, so that a first attempt runs as long as a test wants.
type gate struct {
	entered chan struct{} // gets a value when an insert has come
	release chan error    // each value lets one insert go on, or fail
}

func newGate() *gate { return &gate{make(chan struct{}, 100), make(chan error, 100)} }

func (g *gate) awaitEntered(t *testing.T) {
	t.Helper()
	select {
	case <-g.entered:
	case <-time.After(patience):
		t.Fatal("no attempt has come to its insert")
	}
}

type gated[Tx any] struct {
	Database[Tx]
	gate *gate
}

func (g gated[Tx]) Insert(ctx context.Context, tx Tx, table, columns string, values ...any) (bool, error) {
	g.gate.entered <- struct{}{}
	select {
	case err := <-g.gate.release:
		if err != nil {
			return false, err
		}
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return g.Database.Insert(ctx, tx, table, columns, values...)
}

// process is a shop that serves: as far as the database can tell, a process of its own.
type process struct {
	t    *testing.T
	url  string
	shop *Shop
	end  func()
}

func (d *database) start() *process { return d.startWith(Options{Callers: DemoCallers()}) }

func (d *database) startWith(options Options) *process {
	d.t.Helper()
	return serve(d.t, must(Open(d.t.Context(), d.name, options))(d.t))
}

// startGated starts a process whose inserts wait at the gate.
func (d *database) startGated(g *gate) *process {
	d.t.Helper()
	options := Options{Callers: DemoCallers()}.withDefaults()
	if err := must(Open(d.t.Context(), d.name, options))(d.t).Close(); err != nil { // for the migrations
		d.t.Fatal(err)
	}
	if d.kind == KindPostgres {
		pool := must(ConnectPostgres(d.t.Context(), d.name))(d.t)
		closePool := func() error { pool.Close(); return nil }
		return serve(d.t, must(assemble(pgxstore.New(pool), Database[pgx.Tx](gated[pgx.Tx]{Postgres(pool), g}), options, closePool))(d.t))
	}
	if d.kind == KindMySQL {
		db := must(ConnectMySQL(d.t.Context(), d.name))(d.t)
		return serve(d.t, must(assemble(mysqlstore.New(db), Database[sqlstore.Tx](gated[sqlstore.Tx]{MySQL(db), g}), options, db.Close))(d.t))
	}
	store := must(sqlitestore.Open(d.t.Context(), d.name, sqlitestore.Options{}))(d.t)
	writer := must(openSchema(d.name))(d.t)
	closeBoth := func() error { return errors.Join(writer.Close(), store.Close()) }
	return serve(d.t, must(assemble(store, Database[sqlstore.Tx](gated[sqlstore.Tx]{SQLite(store.Reader(), writer), g}), options, closeBoth))(d.t))
}

func serve(t *testing.T, shop *Shop) *process {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := NewServer(shop.Handler, Options{}.withDefaults().Logger)
	go func() { _ = server.Serve(listener) }()
	p := &process{t: t, url: "http://" + listener.Addr().String(), shop: shop}
	working, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { shop.work(working) })
	p.end = sync.OnceFunc(func() {
		stop()
		background.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := shop.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(p.end)
	return p
}

// answer is an HTTP answer that was read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// request is one request; the zero value of a field leaves it out.
type request struct {
	method, path, token, body string
	keys                      []string
	header                    map[string]string
}

func (p *process) send(r request) answer {
	p.t.Helper()
	req := must(http.NewRequestWithContext(p.t.Context(), r.method, p.url+r.path, strings.NewReader(r.body)))(p.t)
	req.GetBody = nil // net/http must not send it again by itself (F43)
	if r.token != "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, key := range r.keys {
		req.Header.Add("Idempotency-Key", key)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	got, err := client.Do(req)
	if err != nil {
		p.t.Errorf("%s %s: %v", r.method, r.path, err)
		return answer{}
	}
	defer func() { _ = got.Body.Close() }()
	return answer{got.StatusCode, got.Header, string(must(io.ReadAll(got.Body))(p.t))}
}

var client = &http.Client{
	Timeout:       patience,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (p *process) post(path, token, key, body string) answer {
	p.t.Helper()
	return p.send(request{method: "POST", path: path, token: token, keys: []string{key}, body: body})
}

func (p *process) get(path, token string) answer {
	p.t.Helper()
	return p.send(request{method: "GET", path: path, token: token})
}

// atOnce calls f n times at the same moment.
func atOnce(n int, f func(i int) answer) []answer {
	answers := make([]answer, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			answers[i] = f(i)
		})
	}
	close(start)
	all.Wait()
	return answers
}

// later calls f in the background.
func later(f func() answer) <-chan answer {
	answers := make(chan answer, 1)
	go func() { answers <- f() }()
	return answers
}

func await(t *testing.T, answers <-chan answer) answer {
	t.Helper()
	select {
	case a := <-answers:
		return a
	case <-time.After(patience):
		t.Fatal("no answer has come")
		return answer{}
	}
}

// must lets a value and its error be one expression: must(f())(t).
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
