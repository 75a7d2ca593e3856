package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/bench"
)

const (
	duplicates   = 20
	secondWithin = 2 * time.Second // for a second process to begin the same work, while the first is held up in it
	processConns = 4
)

// conduct is what a peer does when things go wrong: each is tried, none is taken from a description.
var conduct = []struct {
	name string
	try  func(l *lab, ctx context.Context, p *peer) (string, error)
}{
	{"20 at once", (*lab).atOnce},
	{"two processes at once", (*lab).twoProcesses},
	{"retry at another process", (*lab).elsewhere},
	{"same key, other quantity", (*lab).otherMeaning},
	{"retry after the work failed", (*lab).afterFailure},
	{"process dies, retry after its restart", (*lab).restarted},
	{"process dies, retry at one that lives", (*lab).survived},
}

// conductTable tries all of it with every peer.
func (l *lab) conductTable(ctx context.Context) (*table, error) {
	t := &table{
		name: "What they do",
		about: "Each cell is the worst of what was seen, on a real database. A process is a shop with a pool of its own; two share nothing but the database. " +
			"It dies by losing all its connections at once, tried after every message that it sends to the database for one order, whose answer is lost with it; " +
			"the retry goes to one that is started in its place, or to one that ran beside it.",
		rows: [][]string{{"side"}},
	}
	for _, c := range conduct {
		t.rows[0] = append(t.rows[0], c.name)
	}
	rows, errs := make([][]string, len(peers)), make([]error, len(peers))
	var group sync.WaitGroup
	for i := range peers {
		group.Go(func() { rows[i], errs[i] = l.conductRow(ctx, &peers[i]) })
	}
	group.Wait()
	l.dying.Wait()
	t.rows = append(t.rows, rows...)
	return t, errors.Join(errs...)
}

func (l *lab) conductRow(ctx context.Context, p *peer) ([]string, error) {
	row := []string{p.name}
	for _, c := range conduct {
		seen, err := c.try(l, ctx, p)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", p.name, c.name, err)
		}
		row = append(row, seen)
	}
	return row, nil
}

// process is a peer's shop in a process of its own.
type process struct {
	*shop
	pool *pgxpool.Pool
}

// start opens a peer's shop in a process of so many connections.
func (l *lab) start(ctx context.Context, p *peer, url, name string, conns int, hold func(key string) error) (*process, error) {
	pool, err := openPool(ctx, url, conns+p.spare)
	if err != nil {
		return nil, err
	}
	shop, err := p.open(ctx, site{pool: pool, process: name, hold: hold})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &process{shop, pool}, nil
}

func (p *process) end() {
	p.close()
	p.pool.Close()
}

// trial is a database with a process, or two, and a key.
type trial struct {
	key      string
	one, two *process
}

// try starts a trial's processes, calls judge, and ends them.
func (l *lab) try(ctx context.Context, p *peer, holdOne, holdTwo func(key string) error, judge func(t *trial) (string, error)) (string, error) {
	name, err := l.database()
	if err != nil {
		return "", err
	}
	url := l.server.URL(name)
	t := &trial{key: l.newKey()}
	if t.one, err = l.start(ctx, p, url, "one", processConns, holdOne); err != nil {
		return "", err
	}
	defer t.one.end()
	if t.two, err = l.start(ctx, p, url, "two", processConns, holdTwo); err != nil {
		return "", err
	}
	defer t.two.end()
	return judge(t)
}

// count tells how many orders there are.
func (t *trial) count(ctx context.Context) (string, error) {
	n, err := orders(ctx, t.two.pool)
	return tell(n), err
}

func tell(orders int) string {
	if orders == 1 {
		return "1 order"
	}
	return fmt.Sprintf("%d orders", orders)
}

// atOnce sends one order many times at the same moment.
func (l *lab) atOnce(ctx context.Context, p *peer) (string, error) {
	return l.try(ctx, p, nil, nil, func(t *trial) (string, error) {
		err := bench.Calls(ctx, duplicates, duplicates, func(ctx context.Context) error {
			_, err := t.one.order(ctx, t.key, 2)
			return err
		})
		if err != nil {
			return "", err
		}
		return t.count(ctx)
	})
}

// twoProcesses sends an order to a second process while the first is held up in its work.
func (l *lab) twoProcesses(ctx context.Context, p *peer) (string, error) {
	began, release, rival := make(chan struct{}), make(chan struct{}), make(chan struct{})
	begin, beginRival := sync.OnceFunc(func() { close(began) }), sync.OnceFunc(func() { close(rival) })
	holdOne := func(string) error {
		begin()
		<-release
		return nil
	}
	holdTwo := func(string) error {
		beginRival()
		return nil
	}
	return l.try(ctx, p, holdOne, holdTwo, func(t *trial) (string, error) {
		var both sync.WaitGroup
		var errs [2]error
		both.Go(func() { _, errs[0] = t.one.order(ctx, t.key, 2) })
		<-began
		both.Go(func() { _, errs[1] = t.two.order(ctx, t.key, 2) })
		select {
		case <-rival:
		case <-time.After(secondWithin):
		}
		close(release)
		both.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			return "", err
		}
		return t.count(ctx)
	})
}

// elsewhere sends an order again, to another process.
func (l *lab) elsewhere(ctx context.Context, p *peer) (string, error) {
	return l.try(ctx, p, nil, nil, func(t *trial) (string, error) {
		first, err := t.one.order(ctx, t.key, 2)
		if err != nil {
			return "", err
		}
		return t.again(ctx, t.two, first, 2)
	})
}

// otherMeaning sends another order under the same key.
func (l *lab) otherMeaning(ctx context.Context, p *peer) (string, error) {
	return l.try(ctx, p, nil, nil, func(t *trial) (string, error) {
		first, err := t.one.order(ctx, t.key, 2)
		if err != nil {
			return "", err
		}
		return t.again(ctx, t.one, first, 3)
	})
}

// again orders under the key again and tells what comes of it.
func (t *trial) again(ctx context.Context, at *process, first []byte, quantity int) (string, error) {
	second, err := at.order(ctx, t.key, quantity)
	if errors.Is(err, errRefused) {
		return "refused", nil
	}
	if err != nil {
		return "", err
	}
	was, err := idOf(first)
	if err != nil {
		return "", err
	}
	is, err := idOf(second)
	if err != nil || is != was {
		return "a second order", err
	}
	return "first answer", nil
}

var errWork = errors.New("the work failed")

// afterFailure sends an order again whose work had failed.
func (l *lab) afterFailure(ctx context.Context, p *peer) (string, error) {
	failed := false
	hold := func(string) error {
		if failed {
			return nil
		}
		failed = true
		return errWork
	}
	return l.try(ctx, p, hold, nil, func(t *trial) (string, error) {
		if _, err := t.one.order(ctx, t.key, 2); err == nil {
			return "", errors.New("the work failed and the order was answered")
		}
		if _, err := t.one.order(ctx, t.key, 2); err != nil {
			return "the failure stands", nil
		}
		return "runs again", nil
	})
}
