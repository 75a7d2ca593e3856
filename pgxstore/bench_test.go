package pgxstore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/pgxstore"
)

const insertOrder = "INSERT INTO orders (id, sku, quantity, cents) VALUES (gen_random_uuid(), $1, $2, $3)"

var placeOrder = &onceward.Operation{Name: "create-order.v1"}

// shop places orders, with and without onceward, on a server that flushes every commit.
type shop struct {
	pool   *pgxpool.Pool
	engine *onceward.Engine[pgx.Tx]
	answer onceward.Outcome
	keys   atomic.Int64
}

func newShop(b *testing.B, callers int, oneWay time.Duration) *shop {
	b.Helper()
	server := dbtest.StartPostgres(b, dbtest.PostgresOptions{Durable: os.Getenv("D") == ""})
	url := server.Database(b)
	if oneWay > 0 {
		proxy := dbtest.NewProxy(b, server.Addr())
		proxy.Delay(oneWay)
		url = proxy.URL(url)
	}
	pool := connect(b, url, func(c *pgxpool.Config) { c.MaxConns = int32(callers) })
	if err := pgxstore.Migrate(b.Context(), pool); err != nil {
		b.Fatal(err)
	}
	if _, err := pool.Exec(b.Context(), "CREATE TABLE orders (id uuid PRIMARY KEY, sku text NOT NULL, quantity integer NOT NULL, cents bigint NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	engine, err := onceward.New(pgxstore.New(pool), onceward.Options{MemoryBytesMax: -1})
	if err != nil {
		b.Fatal(err)
	}
	answer := bytes.Repeat([]byte(`{"id":"019","sku":"BOOK","q":2},`), 16)[:500] // a body of 400 bytes, headers of 100
	return &shop{pool: pool, engine: engine, answer: onceward.Outcome{Kind: "http", Data: answer}}
}

// bare is the caller's own transaction, in three round trips.
func (s *shop) bare(ctx context.Context) error {
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertOrder, "BOOK", 2, 9900)
		return err
	})
}

func (s *shop) once(ctx context.Context) error {
	key := "order-" + strconv.FormatInt(s.keys.Add(1), 10)
	c := placeOrder.For(onceward.Scope{Tenant: "acme", Principal: "alice"}, key, []byte(`{"sku":"BOOK","quantity":2}`))
	_, err := s.engine.Do(ctx, c, func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		_, err := tx.Exec(ctx, insertOrder, "BOOK", 2, 9900)
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
	}{{1, 0}, {32, 0}, {1, 500 * time.Microsecond}, {8, 500 * time.Microsecond}} {
		b.Run(fmt.Sprintf("c=%d,network=%v", bench.callers, 2*bench.oneWay), func(b *testing.B) {
			s := newShop(b, bench.callers, bench.oneWay)
			count := 800 / bench.callers
			orders(b, bench.callers, 20, s.bare) // statements prepared, pages there
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

// BenchmarkWAL reports the bytes of log that an order needs more with onceward than without.
func BenchmarkWAL(b *testing.B) {
	s := newShop(b, 1, 0)
	per := func(place func(context.Context) error) float64 {
		const count = 400
		orders(b, 1, count, place) // the pages that a checkpoint makes be written whole
		before := s.position(b)
		orders(b, 1, count, place)
		return float64(s.position(b)-before) / count
	}
	var bare, once float64
	for b.Loop() {
		bare, once = per(s.bare), per(s.once)
	}
	b.ReportMetric(bare, "bare-B")
	b.ReportMetric(once-bare, "extra-B")
	b.ReportMetric(0, "ns/op")
}

func (s *shop) position(b *testing.B) (position int64) {
	b.Helper()
	if err := s.pool.QueryRow(b.Context(), "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&position); err != nil {
		b.Fatal(err)
	}
	return position
}
