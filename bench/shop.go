package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/pgxstore"
)

const (
	createOrders = `CREATE TABLE orders (id uuid PRIMARY KEY, sku text NOT NULL, quantity integer NOT NULL, cents bigint NOT NULL)`
	insertOrder  = `INSERT INTO orders (id, sku, quantity, cents) VALUES (gen_random_uuid(), $1, $2, $3)`
)

// What an answer to an order weighs, in bytes, and what is recorded of it.
const (
	answerBody    = 400
	answerHeaders = 100
)

// bareTx says the isolation, as onceward does: both sides send the same BEGIN.
var bareTx = pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}

var (
	// placeOrder does not wait; hotOrder has its duplicates wait for the first.
	placeOrder = &onceward.Operation{Name: "create-order.v1"}
	hotOrder   = &onceward.Operation{Name: "hot-order.v1", Wait: onceward.WaitMax}

	meaning = json.RawMessage(`{"sku":"BOOK","quantity":2,"currency":"CHF","note":"leave it at the door"}`)
)

// Caller is who asks, in all measurements.
var Caller = onceward.Scope{Tenant: "acme", Principal: "alice"}

// NewOrder is the command of an order under a key.
func NewOrder(key string) onceward.Command { return placeOrder.For(Caller, key, meaning) }

// Shop places orders in its database, with onceward and without. It is safe for concurrent use.
type Shop struct {
	Pool   *pgxpool.Pool
	Engine *onceward.Engine[pgx.Tx]

	outcome onceward.Outcome
	keys    *atomic.Int64
	network func()
}

// openShop makes the tables and fills the pool, so that no connection is opened while it is measured.
func openShop(ctx context.Context, url string, conns int, network func()) (*Shop, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(conns)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &Shop{Pool: pool, network: network, keys: new(atomic.Int64), outcome: onceward.Outcome{Kind: "http", Data: answer()}}
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("bench: open the shop: %w", err)
	}
	return s, nil
}

// answer is what is recorded: without a run of one byte, that a compressed column could make short.
func answer() []byte {
	data := make([]byte, answerHeaders+answerBody)
	for i := range data {
		data[i] = byte(' ' + i*i%95)
	}
	return data
}

func (s *Shop) open(ctx context.Context) (err error) {
	if err := pgxstore.Migrate(ctx, s.Pool); err != nil {
		return err
	}
	if _, err := s.Pool.Exec(ctx, createOrders); err != nil {
		return err
	}
	s.Engine, err = onceward.New(pgxstore.New(s.Pool), onceward.Options{})
	return err
}

// With is the shop with another engine, as another process has it: with these options and a memory of its own.
func (s *Shop) With(options onceward.Options) (*Shop, error) {
	engine, err := onceward.New(pgxstore.New(s.Pool), options)
	if err != nil {
		return nil, err
	}
	return &Shop{Pool: s.Pool, Engine: engine, outcome: s.outcome, keys: s.keys, network: func() {}}, nil
}

// Process is the shop as another process has it: with a pool of its own, as large, and an engine on that.
func (s *Shop) Process(ctx context.Context) (*Shop, error) {
	pool, err := pgxpool.NewWithConfig(ctx, s.Pool.Config())
	if err != nil {
		return nil, err
	}
	engine, err := onceward.New(pgxstore.New(pool), onceward.Options{})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &Shop{Pool: pool, Engine: engine, outcome: s.outcome, keys: s.keys, network: func() {}}, nil
}

// Database is the name of the shop's database.
func (s *Shop) Database() string { return s.Pool.Config().ConnConfig.Database }

// Close ends the pool and the network to it. The database stays until the server's end.
func (s *Shop) Close() {
	s.Pool.Close()
	s.network()
}

// Warm has each side called often enough, at once, that connections are open, statements prepared and pages there.
func (s *Shop) Warm(ctx context.Context, callers, calls int) error {
	return errors.Join(Calls(ctx, callers, calls, s.Bare), Calls(ctx, callers, calls, s.Once))
}

// Bare places an order in the caller's own transaction: BEGIN, INSERT and COMMIT, a round trip each.
func (s *Shop) Bare(ctx context.Context) error {
	return pgx.BeginTxFunc(ctx, s.Pool, bareTx, func(tx pgx.Tx) error { return place(ctx, tx) })
}

// Once places an order under a new key: the same insert, run by the engine.
func (s *Shop) Once(ctx context.Context) error {
	return s.Place(ctx, s.NewKey())
}

// Hot places an order under a key that others may ask for at the same time; the work is held up by hold.
func (s *Shop) Hot(ctx context.Context, key string, hold func()) error {
	return s.do(ctx, hotOrder.For(Caller, key, meaning), func(ctx context.Context, tx pgx.Tx) error {
		hold()
		return place(ctx, tx)
	})
}

// Place asks for the order under key.
func (s *Shop) Place(ctx context.Context, key string) error { return s.do(ctx, NewOrder(key), place) }

// Hasty asks for the order under key, without waiting where another attempt runs; the work is held up by hold.
func (s *Shop) Hasty(ctx context.Context, key string, hold func()) error {
	return s.do(ctx, NewOrder(key), func(ctx context.Context, tx pgx.Tx) error {
		hold()
		return place(ctx, tx)
	})
}

// NewKey is as long as the UUID that a client would send.
func (s *Shop) NewKey() string {
	return "8e03978e-40d5-43dd-bc93-" + strconv.FormatInt(1e11+s.keys.Add(1), 10)
}

func (s *Shop) do(ctx context.Context, command onceward.Command, work func(context.Context, pgx.Tx) error) error {
	_, err := s.Engine.Do(ctx, command, func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		return s.outcome, work(ctx, tx)
	})
	return err
}

func place(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, insertOrder, "BOOK", 2, 9900)
	return err
}
