package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/bench"
	"github.com/onceward/onceward/internal/dbtest"
)

// lab is where the peers are compared, and for how long.
type lab struct {
	server   *bench.Server
	rounds   int
	window   time.Duration // of one side of one round
	requests int           // of one side of one round, where requests and not time are counted
	warmups  int           // requests of each caller before anything is measured

	keys  atomic.Int64
	dying sync.WaitGroup // processes that died and do not know it yet
}

// newKey is as long as the UUID that a client would send.
func (l *lab) newKey() string { return l.keyLike("8e03978e") }

// keyLike makes a new key that begins with eight letters of the caller's.
func (l *lab) keyLike(prefix string) string {
	return prefix + "-40d5-43dd-bc93-" + strconv.FormatInt(1e11+l.keys.Add(1), 10)
}

// database makes a database with the table of orders.
func (l *lab) database() (name string, err error) {
	if name, err = l.server.CreateDatabase(); err == nil {
		_, err = l.server.Exec(name, createOrders)
	}
	return name, err
}

// openPool opens a pool of so many connections.
func openPool(ctx context.Context, url string, conns int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(conns)
	return pgxpool.NewWithConfig(ctx, config)
}

// stand is a peer and the bare transaction on one pool of one database.
type stand struct {
	*lab
	pool    *pgxpool.Pool
	peer    *shop
	bare    *shop
	name    string // of the database
	network func()
}

// openStand opens a stand for so many callers, over a network whose round trip takes so long.
func (l *lab) openStand(ctx context.Context, p *peer, callers int, roundTrip time.Duration, hold func(key string) error) (_ *stand, err error) {
	s := &stand{lab: l, network: func() {}}
	defer func() {
		if err != nil {
			s.close()
			err = fmt.Errorf("open %s: %w", p.name, err)
		}
	}()
	if s.name, err = l.database(); err != nil {
		return nil, err
	}
	url := l.server.URL(s.name)
	if roundTrip > 0 {
		proxy, err := dbtest.ListenProxy(l.server.Addr())
		if err != nil {
			return nil, err
		}
		proxy.Delay(roundTrip / 2)
		s.network, url = proxy.Close, proxy.URL(url)
	}
	if s.pool, err = openPool(ctx, url, callers+p.spare); err != nil {
		return nil, err
	}
	at := site{pool: s.pool, process: "one", hold: hold}
	if s.peer, err = p.open(ctx, at); err != nil {
		return nil, err
	}
	s.bare, err = bare.open(ctx, at)
	return s, err
}

// close may be called again.
func (s *stand) close() {
	if s.peer != nil {
		s.peer.close()
		s.peer = nil
	}
	if s.pool != nil {
		s.pool.Close()
	}
	s.network()
}

// orders is the side that places an order under a new key.
func (s *stand) orders(shop *shop) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := shop.order(ctx, s.newKey(), 2)
		return err
	}
}

// warm has both sides called often enough, at once, that connections are open and statements prepared.
func (s *stand) warm(ctx context.Context, callers int) error {
	calls := s.warmups * callers
	return errors.Join(bench.Calls(ctx, callers, calls, s.orders(s.bare)), bench.Calls(ctx, callers, calls, s.orders(s.peer)))
}

// table is one of Markdown.
type table struct {
	name  string
	about string
	rows  [][]string // the first is the head
}

// String is the table's Markdown.
func (t *table) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "### %s\n\n%s\n\n", t.name, t.about)
	for i, row := range t.rows {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&text, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	return text.String()
}
