package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/redisfront"
	"github.com/onceward/onceward/shop"
)

// drainTimeout bounds the wait for running requests, longer than a request may take.
const drainTimeout = 80 * time.Second

// demo is the verb that runs the reference shop.
type demo struct {
	Addr      string        `default:"127.0.0.1:8080" help:"The address to listen on (${default})." placeholder:"HOST:PORT"`
	Database  string        `default:"./onceward-demo.db" help:"The path of a SQLite file, which is made if need be (${default}), or a postgres:// or mysql:// URL." placeholder:"PATH|URL"`
	Redis     string        `help:"A Redis that answers retries before the database is asked: redis://host:6379/0 (rediss:// with TLS), its Sentinels as redis://host:26379?addr=other:26379&master_set=name, a Cluster as redis://node:6379?addr=other:6379. None by default." placeholder:"URL"`
	QuoteLife time.Duration `default:"5m" help:"How long a quote stands, from 1s to 24h (${default})." placeholder:"DURATION"`
	Fresh     bool          `help:"Remove an earlier demo's data first: its own tables and records, or its file; nothing else."`
}

// Validate refuses what cannot be meant.
func (d *demo) Validate() error {
	switch {
	case d.Addr == "":
		return errors.New("--addr: it is empty: give HOST:PORT")
	case d.QuoteLife < time.Second || d.QuoteLife > 24*time.Hour:
		return fmt.Errorf("--quote-life: %v is not between 1s and 24h", d.QuoteLife)
	}
	return nil
}

// Run serves until SIGINT or SIGTERM, lets running requests finish, and returns. A second signal ends the process.
func (d *demo) Run(ctx context.Context, to streams) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(to.log, nil))
	// Before anything is removed or migrated: the address tells whether another demo runs. Connections that come early
	// wait for the first Accept.
	listener, err := net.Listen("tcp", d.Addr)
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	defer func() { _ = listener.Close() }() // the server has closed it, if it came to that
	front, closeFront, err := d.front(ctx, logger)
	if err != nil {
		return err
	}
	defer closeFront()
	service, err := d.open(ctx, logger, front)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // a signal while it started: there is no request to wait for
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	if _, err := fmt.Fprint(to.out, invitation(listener.Addr(), d.Database)); err != nil {
		return err
	}
	var background sync.WaitGroup
	defer background.Wait()
	sweeping, endSweeping := context.WithCancel(ctx)
	defer endSweeping()
	background.Go(func() { service.Run(sweeping) })
	return serve(ctx, stop, listener, shop.NewServer(service.Handler, logger))
}

func (d *demo) open(ctx context.Context, logger *slog.Logger, front onceward.Front) (*shop.Shop, error) {
	if d.Fresh {
		if err := shop.Drop(ctx, d.Database); err != nil {
			return nil, fmt.Errorf("--fresh: %w", err)
		}
	}
	return shop.Open(ctx, d.Database, shop.Options{Callers: shop.DemoCallers(), Front: front, QuoteLife: d.QuoteLife, Logger: logger})
}

// front is Redis, which need not be there: without it the demo is only slower, and says so once.
func (d *demo) front(ctx context.Context, logger *slog.Logger) (onceward.Front, func(), error) {
	if d.Redis == "" {
		return nil, func() {}, nil
	}
	connect, err := rueidis.ParseURL(d.Redis)
	if err != nil {
		return nil, nil, errors.New("--redis: it must be a URL such as redis://127.0.0.1:6379/0") // the error quotes the URL, which may hold a password
	}
	front, err := redisfront.New(connect, redisfront.Options{Report: func(err error) {
		if err != nil {
			logger.Warn("the demo goes on without Redis", "error", err)
			return
		}
		logger.Info("Redis is used again")
	}})
	if err != nil {
		return nil, nil, fmt.Errorf("--redis: %w", err)
	}
	if err := front.Check(ctx); err != nil {
		logger.Warn("Redis does not answer yet: the demo goes on without it", "error", err)
	}
	return front, front.Close, nil
}

// serve answers requests until ctx ends, and those that run then.
func serve(ctx context.Context, stop func(), listener net.Listener, server *http.Server) error {
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stop() // from here on a signal does what it does to any process
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		return fmt.Errorf("requests still ran after %v: %w", drainTimeout, err)
	}
	return nil
}

// invitation says where the demo is and what to try. The key is new each time, so that the first line places an order.
func invitation(at net.Addr, database string) string {
	url := "http://" + reachable(at)
	switch kind, _ := shop.KindOf(database); kind { // a URL may hold a password
	case shop.KindPostgres:
		database = "PostgreSQL"
	case shop.KindMySQL:
		database = "MariaDB"
	}
	post := fmt.Sprintf("curl -i %s/orders -H 'Authorization: Bearer demo-acme-alice' -H 'Idempotency-Key: try-%s' -H 'Content-Type: application/json'",
		url, strings.ToLower(rand.Text()[:8]))
	return "The onceward demo listens on " + url + " and keeps its orders in " + database + ".\n\n" +
		"Place an order:\n\n  " + post + ` -d '{"sku":"BOOK","quantity":2}'` + "\n\n" +
		"Send it again, as after a timeout (the same order, the same answer):\n\n  " + post + ` -d '{"sku":"BOOK","quantity":2}'` + "\n\n" +
		"Send something else under that key (refused):\n\n  " + post + ` -d '{"sku":"BOOK","quantity":3}'` + "\n\n" +
		"The other callers are demo-acme-bob and demo-globex-carol: under the same key each has an order of his own.\n" +
		"Ctrl-C ends it when the running requests are answered; a second one ends it at once.\n"
}

// reachable is an address that a client on this machine can use.
func reachable(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", tcp.Port)
	}
	return at.String()
}
