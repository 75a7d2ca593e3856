package mysqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/sqlstore"
)

const insertOrder = "INSERT INTO orders (id, sku, quantity, cents) VALUES (UUID(), ?, ?, ?)"

var placeOrder = &onceward.Operation{Name: "create-order.v1"}

// shop places orders, with and without onceward, on a server that flushes every commit.
type shop struct {
	db     *sql.DB
	engine *onceward.Engine[sqlstore.Tx]
	answer onceward.Outcome
	keys   atomic.Int64
}

func newShop(b *testing.B, callers int, oneWay time.Duration, change func(*mysql.Config)) *shop {
	b.Helper()
	server := dbtest.StartMariaDB(b, dbtest.MariaDBOptions{Durable: true})
	url := server.Database(b)
	if oneWay > 0 {
		proxy := dbtest.NewProxy(b, server.Addr())
		proxy.Delay(oneWay)
		url = proxy.URL(url)
	}
	db := connect(b, url, change)
	db.SetMaxOpenConns(callers)
	db.SetMaxIdleConns(callers)
	if err := mysqlstore.Migrate(b.Context(), db); err != nil {
		b.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE orders (id CHAR(36) CHARACTER SET ascii PRIMARY KEY, sku VARCHAR(100) NOT NULL, quantity INT NOT NULL, cents BIGINT NOT NULL) ENGINE = InnoDB"); err != nil {
		b.Fatal(err)
	}
	engine, err := onceward.New(mysqlstore.New(db), onceward.Options{MemoryBytesMax: -1})
	if err != nil {
		b.Fatal(err)
	}
	answer := bytes.Repeat([]byte(`{"id":"019","sku":"BOOK","q":2},`), 16)[:500] // a body of 400 bytes, headers of 100
	return &shop{db: db, engine: engine, answer: onceward.Outcome{Kind: "http", Data: answer}}
}

// bare is the caller's own transaction with an isolation level that is said, as the driver has it: SET, START, the insert
// and COMMIT, in four round trips.
func (s *shop) bare(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, insertOrder, "BOOK", 2, 9900); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *shop) once(ctx context.Context) error {
	key := "order-" + strconv.FormatInt(s.keys.Add(1), 10)
	c := placeOrder.For(onceward.Scope{Tenant: "acme", Principal: "alice"}, key, []byte(`{"sku":"BOOK","quantity":2}`))
	_, err := s.engine.Do(ctx, c, func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		_, err := tx.ExecContext(ctx, insertOrder, "BOOK", 2, 9900)
		return s.answer, err
	})
	return err
}

// orders has callers place count orders each and returns the time taken.
func orders(b *testing.B, callers, count int, place func(context.Context) error) time.Duration {
	var group sync.WaitGroup
	began := time.Now()
	for range callers {
		group.Go(func() {
			for range count {
				if err := place(context.Background()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	group.Wait()
	return time.Since(began)
}

// BenchmarkAgainstBare compares Do with the bare transaction, round against round, and reports the median of the rounds.
func BenchmarkAgainstBare(b *testing.B) {
	for _, bench := range []struct {
		callers int
		oneWay  time.Duration
		name    string
		change  func(*mysql.Config)
	}{
		{1, 0, "", nil},
		{32, 0, "", nil},
		{1, 500 * time.Microsecond, "", nil},
		{8, 500 * time.Microsecond, "", nil},
		{32, 0, ",one by one", func(c *mysql.Config) { c.MultiStatements = false }},
	} {
		b.Run(fmt.Sprintf("c=%d,network=%v%s", bench.callers, 2*bench.oneWay, bench.name), func(b *testing.B) {
			s := newShop(b, bench.callers, bench.oneWay, bench.change)
			count := 800 / bench.callers
			orders(b, bench.callers, 20, s.bare) // pages there
			orders(b, bench.callers, 20, s.once)
			var ratios []float64
			var rate float64
			for b.Loop() {
				bare := orders(b, bench.callers, count, s.bare)
				once := orders(b, bench.callers, count, s.once)
				ratios = append(ratios, bare.Seconds()/once.Seconds())
				rate = float64(bench.callers*count) / once.Seconds()
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "×bare")
			b.ReportMetric(rate, "orders/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
