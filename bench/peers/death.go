package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/internal/dbtest"
)

const (
	dyingMessagesMax = 200 // that a process sends to the database for one order
	answerWithin     = 10 * time.Second
	retryEvery       = 20 * time.Millisecond
)

// errUnanswered says that an order was not answered within answerWithin.
var errUnanswered = errors.New("not answered")

// deaths has a peer's process die after each message that it sends to the database for an order, one order for each.
type deaths struct {
	*lab
	peer  *peer
	url   string
	count *pgxpool.Pool
}

// restarted sends each order again to the process that is started in the dead one's place.
func (l *lab) restarted(ctx context.Context, p *peer) (string, error) {
	return l.deaths(ctx, p, func(d *deaths) (func(key string) error, func(), error) {
		return func(key string) error {
			heir, err := d.start(ctx, p, d.url, "one", processConns, nil)
			if err != nil {
				return err
			}
			defer heir.end()
			return answered(ctx, heir, key)
		}, func() {}, nil
	})
}

// survived sends each order again to another process, which lives on, while nobody is started in the dead one's place.
func (l *lab) survived(ctx context.Context, p *peer) (string, error) {
	return l.deaths(ctx, p, func(d *deaths) (func(key string) error, func(), error) {
		other, err := d.start(ctx, p, d.url, "two", processConns, nil)
		if err != nil {
			return nil, nil, err
		}
		return func(key string) error { return answered(ctx, other, key) }, other.end, nil
	})
}

// deaths tells the worst that comes of an order whose process died, when it is sent again by what prepare returns.
func (l *lab) deaths(ctx context.Context, p *peer, prepare func(d *deaths) (again func(key string) error, end func(), err error)) (string, error) {
	name, err := l.database()
	if err != nil {
		return "", err
	}
	d := &deaths{lab: l, peer: p, url: l.server.URL(name)}
	if d.count, err = openPool(ctx, d.url, 1); err != nil {
		return "", err
	}
	defer d.count.Close()
	again, end, err := prepare(d)
	if err != nil {
		return "", err
	}
	defer end()
	worst := 0
	for message := range dyingMessagesMax {
		placed, died, err := d.death(ctx, message, again)
		switch worst = max(worst, placed); {
		case errors.Is(err, errUnanswered):
			return "no answer", nil
		case err != nil:
			return "", fmt.Errorf("message %d: %w", message, err)
		case !died:
			return tell(worst), nil
		}
	}
	return "", fmt.Errorf("an order takes more than %d messages", dyingMessagesMax)
}

// death places one order, has its process die, sends it again, and tells how many there are then; and whether the process
// lived to answer, for want of such a message.
func (d *deaths) death(ctx context.Context, message int, again func(key string) error) (placed int, died bool, err error) {
	proxy, err := dbtest.ListenProxy(d.server.Addr())
	if err != nil {
		return 0, false, err
	}
	defer proxy.Close()
	first, err := d.start(ctx, d.peer, proxy.URL(d.url), "one", processConns, nil)
	if err != nil {
		return 0, false, err
	}
	defer d.dying.Go(first.end)
	if _, err := first.order(ctx, d.newKey(), 2); err != nil { // statements are prepared now
		return 0, false, err
	}
	before, err := orders(ctx, d.count)
	if err != nil {
		return 0, false, err
	}
	key, over := d.newKey(), make(chan struct{})
	fault := proxy.Cut(dbtest.Fault{Moment: dbtest.Answered, Skip: message})
	d.dying.Go(func() {
		_, _ = first.order(ctx, key, 2) // what a dead process thinks does not matter
		close(over)
	})
	select {
	case <-fault.Struck():
	case <-over:
	}
	if died = fault.Count() > 0; died {
		proxy.Close()
	}
	if err := again(key); err != nil {
		return 0, died, err
	}
	after, err := orders(ctx, d.count)
	return after - before, died, err
}

// answered sends an order until it is answered.
func answered(ctx context.Context, at *process, key string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	pause := time.NewTicker(retryEvery)
	defer pause.Stop()
	for {
		_, err := at.order(ctx, key, 2)
		if err == nil {
			return nil
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return fmt.Errorf("%w within %v: %w", errUnanswered, answerWithin, err)
		}
	}
}
