package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// peer is one way to place an order so that sending it twice does not place two.
type peer struct {
	name string
	// module is the path of the Go module that does it; empty where no module does.
	module string
	// how tells how it is used.
	how string
	// spare is how many connections it takes from the pool for itself.
	spare int
	open  func(ctx context.Context, s site) (*shop, error)
}

// site is where a peer's shop is opened.
type site struct {
	pool *pgxpool.Pool
	// process names the process that the shop stands for, to a peer that wants to know.
	process string
	// hold is called within the work that places an order, before it does. Its error is the work's.
	hold func(key string) error
}

// shop is a peer at work in one process.
type shop struct {
	// order places the order of a quantity under a key, or answers with the one that was placed before. It is called concurrently.
	order func(ctx context.Context, key string, quantity int) ([]byte, error)
	close func()
}

// peers are all, the caller's own transaction first: it is what the others are measured against.
var peers = []peer{bare, onceDo, onceDoor, recipe, riverJob, dbosWorkflow, fiberMemory, fiberPostgres}

// sidesTable tells who is compared.
func (l *lab) sidesTable(context.Context) (*table, error) {
	t := &table{
		name:  "The sides",
		about: "Each is set up in the best way that we found in its documentation. All run the same work, the insert of one order, and all but the first keep an answer of 400 bytes.",
		rows:  [][]string{{"side", "version", "how it is used"}},
	}
	for _, p := range peers {
		t.rows = append(t.rows, []string{p.name, p.version(), p.how})
	}
	return t, nil
}

// version is the version of the peer's module in this program.
func (p *peer) version() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil || p.module == "" {
		return "–"
	}
	for _, m := range info.Deps {
		if m.Path == p.module {
			return m.Version
		}
	}
	return "unknown"
}

// The caller's own transaction, with nothing that knows a retry.
var bare = peer{
	name: "bare",
	how:  "the caller's own transaction: `BEGIN`, `INSERT`, `COMMIT`, a round trip each; nothing knows a retry",
	open: func(_ context.Context, s site) (*shop, error) {
		order := func(ctx context.Context, key string, quantity int) ([]byte, error) {
			return s.placeBare(ctx, key, quantity)
		}
		return &shop{order: order, close: func() {}}, nil
	},
}

// readCommitted is said by every side that begins its own transaction, so that all send the same BEGIN.
var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}

// placeBare places an order in a transaction of its own.
func (s site) placeBare(ctx context.Context, key string, quantity int) (answer []byte, err error) {
	err = pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
		answer, err = s.place(ctx, tx, key, quantity)
		return err
	})
	return answer, err
}

// place is the work: it is the same with every peer.
func (s site) place(ctx context.Context, tx pgx.Tx, key string, quantity int) ([]byte, error) {
	return s.placeBy(newID(), key, quantity, func(sql string, arguments ...any) error {
		_, err := tx.Exec(ctx, sql, arguments...)
		return err
	})
}

// placeBy is place for a peer that hands out a transaction of another type, or has to know the id before.
func (s site) placeBy(id, key string, quantity int, exec func(sql string, arguments ...any) error) ([]byte, error) {
	if s.hold != nil {
		if err := s.hold(key); err != nil {
			return nil, err
		}
	}
	if err := exec(insertOrder, id, "BOOK", quantity, 9900*quantity); err != nil {
		return nil, err
	}
	return answerOf(id, quantity), nil
}

// errStatus is an HTTP answer that tells of no order.
type errStatus int

func (e errStatus) Error() string { return fmt.Sprintf("answered with %d", int(e)) }

// errRefused says that a peer refused an order on purpose.
var errRefused = errors.New("refused")
