package proofs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/pgxstore"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// session is the transaction of a work, in the words that both databases share.
type session interface {
	exec(ctx context.Context, statement string) error
	text(ctx context.Context, query string) (string, error)
	leak(ctx context.Context, query string) error // opens rows and leaves them
}

type pgSession struct{ pgx.Tx }

func (s pgSession) exec(ctx context.Context, statement string) error {
	_, err := s.Exec(ctx, statement)
	return err
}

func (s pgSession) text(ctx context.Context, query string) (text string, _ error) {
	return text, s.QueryRow(ctx, query).Scan(&text)
}

func (s pgSession) leak(ctx context.Context, query string) error {
	_, err := s.Query(ctx, query)
	return err
}

type sqliteSession struct{ sqlstore.Tx }

func (s sqliteSession) exec(ctx context.Context, statement string) error {
	_, err := s.ExecContext(ctx, statement)
	return err
}

func (s sqliteSession) text(ctx context.Context, query string) (text string, _ error) {
	return text, s.QueryRowContext(ctx, query).Scan(&text)
}

func (s sqliteSession) leak(ctx context.Context, query string) error {
	_, err := s.QueryContext(ctx, query)
	return err
}

// work is what a test lets a door's handler do. Its effects are rows of the table effect.
type work func(w http.ResponseWriter, r *http.Request, s session) error

// placing is the well-behaved work: one effect, and an answer that no other run gives.
func placing(w http.ResponseWriter, r *http.Request, s session) error {
	if err := effect(r, s); err != nil {
		return err
	}
	return created(w)
}

func effect(r *http.Request, s session) error {
	return s.exec(r.Context(), "INSERT INTO effect (key) VALUES ('"+httponce.CallFrom(r.Context()).Key+"')")
}

func created(w http.ResponseWriter) error {
	id := uuid.NewString()
	w.Header().Set("Location", "/orders/"+id)
	w.WriteHeader(http.StatusCreated)
	_, err := fmt.Fprintf(w, `{"id":%q}`, id)
	return err
}

// doorOptions are what tests vary; the zero value is the default of everything.
type doorOptions struct {
	operation      *onceward.Operation
	through        *dbtest.Proxy // the way to PostgreSQL
	resolveTimeout time.Duration
	busyTimeout    time.Duration // SQLite's
	observer       onceward.Observer
	rules          []fingerprint.Rule
	authorize      func(*http.Request, onceward.Command) error
	outer          func(http.Handler) http.Handler
	statuses       httponce.Statuses
	storedBytesMax int
	headers        []string
}

// door is a process's part of a service, on a real database and behind a real server, with a work of the test's choice.
type door struct {
	t     *testing.T
	url   string
	pool  *pgxpool.Pool // nil on SQLite
	sweep func() error
	end   func()
}

func (d *door) post(r request) answer {
	d.t.Helper()
	return post(d.t, d.url, r)
}

// door opens a door. At the test's end no connection is in use.
func (db *database) door(o doorOptions, do work) *door {
	db.t.Helper()
	if o.operation == nil {
		o.operation = &onceward.Operation{Name: "proof.v1", Wait: time.Second}
	}
	d := &door{t: db.t}
	if db.postgres() {
		db.openPostgres(d, o, do)
	} else {
		db.openSQLite(d, o, do)
	}
	db.exec("CREATE TABLE IF NOT EXISTS effect (key TEXT NOT NULL)")
	db.exec("CREATE TABLE IF NOT EXISTS singular (key TEXT NOT NULL UNIQUE)")
	return d
}

func (db *database) openPostgres(d *door, o doorOptions, do work) {
	direct := must(pgxpool.New(context.Background(), db.name))(db.t)
	if err := pgxstore.Migrate(context.Background(), direct); err != nil {
		db.t.Fatal(err)
	}
	direct.Close()
	name := db.name
	if o.through != nil {
		name = o.through.URL(db.name) + "&default_query_exec_mode=exec"
	}
	d.pool = must(pgxpool.New(context.Background(), name))(db.t)
	pool := d.pool
	open(d, o, pgxstore.New(pool), func(tx pgx.Tx) session { return pgSession{tx} }, do)
	closeServer := d.end
	d.end = func() {
		closeServer()
		// One that was cut is given up in the background. Close would wait for one that never comes back.
		until(db.t, "all connections come back", func() bool { return pool.Stat().AcquiredConns() == 0 })
		pool.Close()
	}
	db.t.Cleanup(d.end)
}

func (db *database) openSQLite(d *door, o doorOptions, do work) {
	store := must(sqlitestore.Open(context.Background(), db.name, sqlitestore.Options{BusyTimeout: o.busyTimeout}))(db.t)
	if err := store.Migrate(context.Background()); err != nil {
		db.t.Fatal(err)
	}
	open(d, o, store, func(tx sqlstore.Tx) session { return sqliteSession{tx} }, do)
	closeServer := d.end
	d.end = func() {
		closeServer()
		if err := store.Close(); err != nil {
			db.t.Error(err)
		}
	}
	db.t.Cleanup(d.end)
}

// open is the wiring that both databases share.
func open[Tx any](d *door, o doorOptions, store onceward.Store[Tx], of func(Tx) session, do work) {
	engine := must(onceward.New(store, onceward.Options{ResolveTimeout: o.resolveTimeout, Observer: o.observer}))(d.t)
	sweeper := must(engine.Sweeper(onceward.SweeperOptions{Grace: time.Nanosecond}))(d.t)
	d.sweep = func() error {
		_, err := sweeper.RunOnce(context.Background())
		return err
	}
	through := must(httponce.New(engine, httponce.Options{
		Scope: bearer, Authorize: o.authorize, Rules: o.rules, Statuses: o.statuses, StoredBytesMax: o.storedBytesMax, Headers: o.headers,
		Report: func(*http.Request, error) {},
	}))(d.t)
	mux := http.NewServeMux()
	mux.Handle("/orders", through.Handle(o.operation, func(w http.ResponseWriter, r *http.Request, tx Tx) error { return do(w, r, of(tx)) }))
	handler := http.Handler(mux)
	if o.outer != nil {
		handler = o.outer(handler)
	}
	web := httptest.NewServer(handler)
	d.url, d.end = web.URL, web.Close
}

// bearer takes the token for the principal.
func bearer(r *http.Request) (onceward.Scope, error) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" {
		return onceward.Scope{}, errors.New("no token")
	}
	return onceward.Scope{Tenant: "acme", Principal: token}, nil
}

func (db *database) effects() int {
	db.t.Helper()
	return db.number("SELECT count(*) FROM effect")
}

func (db *database) wantEffects(want int) {
	db.t.Helper()
	if got := db.effects(); got != want {
		db.t.Errorf("the database has %d effects, want %d", got, want)
	}
}

// wantNothing checks that an attempt has left neither an effect nor a record nor a claim.
func (db *database) wantNothing() {
	db.t.Helper()
	db.wantEffects(0)
	if n := db.records(); n != 0 {
		db.t.Errorf("the database has %d records, want none", n)
	}
	db.wantQuiet()
}

// expire moves the lives of all records into the past.
func (db *database) expire() {
	db.t.Helper()
	past := "1"
	if db.postgres() {
		past = "'2000-01-01'"
	}
	db.exec("UPDATE onceward_record SET expires_at = " + past + ", kept_until = " + past)
}
