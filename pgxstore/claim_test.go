package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/pgxstore"
)

var execModes = []pgx.QueryExecMode{
	pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
	pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
}

// inMode is a pool whose connections use the mode, and start with the settings given.
func (d *database) inMode(t testing.TB, mode pgx.QueryExecMode, settings map[string]string) *pgxpool.Pool {
	t.Helper()
	return connect(t, d.url, func(c *pgxpool.Config) {
		c.ConnConfig.DefaultQueryExecMode = mode
		for name, value := range settings {
			c.ConnConfig.RuntimeParams[name] = value
		}
	})
}

func TestEveryExecMode(t *testing.T) {
	t.Parallel()
	for _, mode := range execModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			pool := d.inMode(t, mode, nil)
			engine := newEngine(t, pool)
			do := func(key string, meaning any, want error, replayed bool) {
				t.Helper()
				result, err := engine.Do(t.Context(), hasty.For(alice, key, meaning), writes(key))
				if wantError(t, err, want); err == nil && (string(result.Outcome.Data) != "done" || result.Replayed != replayed) {
					t.Errorf("answered %s, replayed %t", result.Outcome.Data, result.Replayed)
				}
			}
			do("k", 1, nil, false)
			do("k", 1, nil, true)
			do("k", 2, onceward.ErrKeyReused, false)
			d.exec(t, "UPDATE onceward_record SET expires_at = now()")
			do("k", 2, nil, false)
			d.wantEffects(t, "k", 2)
			if record, err := engine.Find(t.Context(), hasty.For(alice, "k", nil)); err != nil || record.State != onceward.StateCompleted {
				t.Errorf("found %+v, %v", record, err)
			}
			joinsAndFails(t, d, pool, engine)
			d.exec(t, "UPDATE onceward_record SET kept_until = now() - interval '1 hour'")
			if n, err := pgxstore.New(pool).Sweep(t.Context(), time.Minute, 10); n != 2 || err != nil {
				t.Errorf("swept %d, %v; want 2", n, err)
			}
			if err := pgxstore.Check(t.Context(), pool); err != nil {
				t.Error(err)
			}
		})
	}
}

// joinsAndFails joins two commands in one transaction, of which one fails by a statement.
func joinsAndFails(t *testing.T, d *database, pool *pgxpool.Pool, engine *onceward.Engine[pgx.Tx]) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, failed := onceward.Join(t.Context(), engine, tx, hasty.For(alice, "fails", nil), func(ctx context.Context, tx pgx.Tx) (int, error) {
			return 0, errors.Join(write(ctx, tx, "fails"), execute("SELECT 1/0")(ctx, tx))
		})
		if failed == nil {
			t.Error("the joined work's error is lost")
		}
		_, err := onceward.Join(t.Context(), engine, tx, hasty.For(alice, "joined", nil), func(ctx context.Context, tx pgx.Tx) (int, error) {
			return 1, write(ctx, tx, "joined")
		})
		return err
	})
	if err != nil {
		t.Errorf("join: %v", err)
	}
	d.wantEffects(t, "fails", 0)
	d.wantEffects(t, "joined", 1)
	d.wantRecords(t, 2)
}

// The winner commits while another waits for its claim. A snapshot from before the wait would miss it.
func TestWinnerIsReadAfterTheWait(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		for _, mode := range execModes {
			t.Run(isolation+", "+mode.String(), func(t *testing.T) {
				t.Parallel()
				d := newDatabase(t)
				release := d.heldClaim(t, "k")
				engine := newEngine(t, d.inMode(t, mode, map[string]string{"default_transaction_isolation": isolation}))
				answered := make(chan error, 1)
				go func() {
					result, err := engine.Do(t.Context(), patient.For(alice, "k", nil), func(context.Context, pgx.Tx) (onceward.Outcome, error) {
						return done, errors.New("the work ran in vain")
					})
					if err == nil && !result.Replayed {
						err = errors.New("it was not replayed")
					}
					answered <- err
				}()
				d.eventually(t, waitsForLock)
				release(nil)
				if err := <-answered; err != nil {
					t.Error(err)
				}
				d.wantEffects(t, "k", 1)
			})
		}
	}
}

// The wait for a claim has a time-out of its own; the work finds the one that the connection had.
func TestWorkNeverSeesOurLockTimeout(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for _, mode := range execModes {
		for _, own := range []string{"0", "7s"} {
			key := mode.String() + own
			release := d.heldClaim(t, key)
			engine := newEngine(t, d.inMode(t, mode, map[string]string{"lock_timeout": own}))
			seen, answered := "", make(chan error, 1)
			go func() {
				_, err := engine.Do(t.Context(), patient.For(alice, key, nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
					return done, errors.Join(write(ctx, tx, key), tx.QueryRow(ctx, "SHOW lock_timeout").Scan(&seen))
				})
				answered <- err
			}()
			d.eventually(t, waitsForLock)
			release(errWork)
			if err := <-answered; err != nil || seen != own {
				t.Errorf("%s: the work saw a lock_timeout of %q, want %q; %v", mode, seen, own, err)
			}
		}
	}
}

// A wait is over when the caller's patience is, or the server's.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.heldClaim(t, "k")
	brief := &onceward.Operation{Name: "test.v1", Wait: 30 * time.Millisecond}
	_, err := newEngine(t, d.pool).Do(t.Context(), brief.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrInFlight)
	_, err = newEngine(t, d.inMode(t, pgx.QueryExecModeExec, map[string]string{"statement_timeout": "30ms"})).
		Do(t.Context(), patient.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrInFlight)
	d.wantEffects(t, "k", 0)
}

// A caller who hangs up while he waits does not cost a connection, and what he waited for stays free.
func TestCallerHangsUpWhileHeWaits(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	release := d.heldClaim(t, "k")
	pool := connect(t, d.url, nil)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := newEngine(t, pool).Do(ctx, patient.For(alice, "k", nil), writes("k"))
		answered <- err
	}()
	d.eventually(t, waitsForLock)
	cancel()
	release(errWork)
	wantError(t, <-answered, context.Canceled)
	wantFree(t, pool)
	if n := pool.Stat().TotalConns(); n != 1 {
		t.Errorf("of its one connection the pool has %d", n)
	}
	d.eventually(t, nothingIsHeld)
	d.wantEffects(t, "k", 0)
}

// The server refuses a plan that it prepared before the schema changed. That costs a round trip, and nobody notices.
func TestSchemaChangesUnderCachedStatements(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for _, mode := range execModes {
		pool := connect(t, d.url, func(c *pgxpool.Config) { c.MaxConns, c.ConnConfig.DefaultQueryExecMode = 1, mode })
		engine := newEngine(t, pool)
		for i, change := range []string{
			"SELECT 1",
			"ALTER TABLE onceward_record ALTER COLUMN operation TYPE varchar(200)",
			"ALTER TABLE onceward_record ALTER COLUMN operation TYPE text, ADD COLUMN more text",
			"ALTER TABLE onceward_record DROP COLUMN more",
		} {
			d.exec(t, change)
			key := fmt.Sprint(mode, i)
			for _, replayed := range []bool{false, true} {
				result, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key))
				if err != nil || result.Replayed != replayed {
					t.Errorf("%s after %s: replayed %t, %v", mode, change, result.Replayed, err)
				}
			}
			d.wantEffects(t, key, 1)
		}
		if mode != pgx.QueryExecModeCacheStatement {
			continue
		}
		if _, err := pool.Exec(t.Context(), "DEALLOCATE ALL", pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		attempt, _, err := pgxstore.New(pool).Claim(t.Context(), &onceward.Record{Operation: "test.v1"}, 0)
		if err != nil {
			t.Errorf("after the prepared statements were dropped: %v", err)
		} else if err := attempt.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	want := &onceward.Record{Operation: "test.v1"}
	for name, pool := range map[string]*pgxpool.Pool{
		"exhausted":        exhausted(t, d.url),
		"no server":        connect(t, "postgres://postgres@127.0.0.1:1/none?sslmode=disable", nil),
		"no such database": connect(t, dbtest.Shared(t).URL("none"), nil),
	} {
		store, err := pgxstore.NewWith(pool, pgxstore.Options{ClaimTimeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = store.Claim(t.Context(), want, onceward.WaitMax)
		wantError(t, err, onceward.ErrUnavailable)
		_, err = store.Find(t.Context(), want)
		wantError(t, err, onceward.ErrUnavailable)
		_, err = store.Sweep(t.Context(), 0, 1)
		wantError(t, err, onceward.ErrUnavailable)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err = newEngine(t, pool).Do(ctx, hasty.For(alice, "k", nil), writes("k"))
		if wantError(t, err, onceward.ErrUnavailable); name == "exhausted" {
			wantError(t, err, context.DeadlineExceeded)
		}
		cancel()
	}
}

// exhausted is a pool whose only connection is out until the test's end.
func exhausted(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool := connect(t, url, func(c *pgxpool.Config) { c.MaxConns = 1 })
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Release)
	return pool
}

func TestSchemaIsMissing(t *testing.T) {
	t.Parallel()
	pool := connect(t, dbtest.Database(t), nil)
	store, want := pgxstore.New(pool), &onceward.Record{Operation: "test.v1"}
	_, _, claim := store.Claim(t.Context(), want, 0)
	_, find := store.Find(t.Context(), want)
	_, sweep := store.Sweep(t.Context(), 0, 1)
	for step, err := range map[string]error{"claim": claim, "find": find, "sweep": sweep, "check": pgxstore.Check(t.Context(), pool)} {
		if err == nil || !errors.Is(err, onceward.ErrSchema) || errors.Is(err, onceward.ErrUnavailable) {
			t.Errorf("%s: the error does not say what to do: %v", step, err)
		}
	}
}

// Neither key nor outcome shows in an error, not even in what the server adds to its own.
func TestErrorsTellNoValues(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec(t, "ALTER TABLE onceward_record ADD CHECK (outcome_kind <> 'test')")
	_, err := newEngine(t, d.pool).Do(t.Context(), hasty.For(alice, "s3cret", nil), writes("k"))
	wantError(t, err, onceward.ErrNotCommitted)
	var server *pgconn.PgError
	if !errors.As(err, &server) || server.Code != "23514" {
		t.Fatalf("the error is %v, want the server's", err)
	}
	if told := fmt.Sprintf("%+v %+v", err, *server); strings.Contains(told, "s3cret") || strings.Contains(told, "646f6e65") {
		t.Errorf("the error tells a value: %s", told)
	}
	d.wantEffects(t, "k", 0)
}

// The collision is made: it cannot be found.
func TestCollisionIsRefused(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.pool)
	if _, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil {
		t.Fatal(err)
	}
	d.exec(t, "UPDATE onceward_record SET key = 'other'")
	_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrCollision)
	err = pgx.BeginFunc(t.Context(), d.pool, func(tx pgx.Tx) error {
		_, err := onceward.Join(t.Context(), engine, tx, hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (int, error) { return 0, write(ctx, tx, "k") })
		wantError(t, err, onceward.ErrCollision)
		return write(t.Context(), tx, "after")
	})
	if err != nil {
		t.Error(err)
	}
	d.wantEffects(t, "k", 1)
	d.wantEffects(t, "after", 1)
}

// A sweep passes by what an attempt is replacing.
func TestSweepDoesNotWait(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for _, key := range []string{"a", "b", "c"} {
		if _, err := newEngine(t, d.pool).Do(t.Context(), hasty.For(alice, key, nil), writes(key)); err != nil {
			t.Fatal(err)
		}
	}
	d.exec(t, "UPDATE onceward_record SET kept_until = now() - interval '1 hour'")
	tx, _, rollback := d.begin(t)
	if _, err := tx.Exec(t.Context(), "SELECT FROM onceward_record WHERE key = 'b' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	store := pgxstore.New(d.pool)
	for _, want := range []int{1, 1, 0} {
		if n, err := store.Sweep(t.Context(), time.Minute, 1); n != want || err != nil {
			t.Errorf("swept %d, %v; want %d", n, err, want)
		}
	}
	_ = rollback()
	if n, err := store.Sweep(t.Context(), 2*time.Hour, 10); n != 0 || err != nil {
		t.Errorf("within the grace %d were swept, %v", n, err)
	}
	if n, err := store.Sweep(t.Context(), time.Minute, 10); n != 1 || err != nil {
		t.Errorf("swept %d, %v; want the one that was locked", n, err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []pgxstore.Options{{IdleTimeout: -1}, {IdleTimeout: 1}, {ClaimTimeout: -1}} {
		if _, err := pgxstore.NewWith(nil, o); err == nil {
			t.Errorf("%+v were taken", o)
		}
	}
}

// TestRoleOfLittleRights: a service's role need not be the one that makes the tables, and its defaults may be any.
func TestRoleOfLittleRights(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec(t, "GRANT SELECT ON onceward_migration TO pg_monitor")
	d.exec(t, "GRANT SELECT, INSERT, DELETE, UPDATE ON onceward_record TO pg_monitor")
	pool := connect(t, d.url, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["role"] = "pg_monitor"
		c.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
		c.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	})
	if _, err := pool.Exec(t.Context(), "CREATE TABLE mine (x int)"); err == nil {
		t.Fatal("the role may create")
	}
	if err := errors.Join(pgxstore.Migrate(t.Context(), pool), pgxstore.Check(t.Context(), pool)); err != nil {
		t.Error(err)
	}
	store := pgxstore.New(pool)
	engine, err := onceward.New(store, onceward.Options{})
	if err != nil {
		t.Fatal(err)
	}
	nothing := &onceward.Operation{Name: "nothing.v1", WritesNothing: true}
	command := nothing.For(onceward.Scope{Principal: "p"}, "k", nil)
	if err := engine.Once(t.Context(), command, func(context.Context, pgx.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
	if n, err := store.Sweep(t.Context(), -2*onceward.RetentionDefault, 10); n != 1 || err != nil {
		t.Errorf("Sweep: %d, %v", n, err)
	}
}

// Migrations run once however many processes start at the same moment.
func TestMigrateFromSeveralProcesses(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := pgxstore.Migrate(t.Context(), connect(t, url, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	pool := connect(t, url, nil)
	steps, err := pgxstore.Status(t.Context(), pool)
	if err != nil || len(steps) != len(pgxstore.Migrations()) {
		t.Fatalf("the status is %v, %v", steps, err)
	}
	for _, step := range steps {
		if step.AppliedAt.IsZero() {
			t.Errorf("number %d was not applied", step.Number)
		}
	}
	if err := pgxstore.Check(t.Context(), pool); err != nil {
		t.Error(err)
	}
	if _, err := pool.Exec(t.Context(), "INSERT INTO onceward_migration VALUES (999, 'later')"); err != nil {
		t.Fatal(err)
	}
	if err := pgxstore.Migrate(t.Context(), pool); err == nil || !strings.Contains(err.Error(), "999") {
		t.Errorf("a database ahead of the program was taken: %v", err)
	}
}

func TestStatusOfAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	steps, err := pgxstore.Status(t.Context(), connect(t, dbtest.Database(t), nil))
	if err != nil || len(steps) == 0 || !steps[0].AppliedAt.IsZero() || !strings.Contains(steps[0].SQL, "CREATE TABLE onceward_record") {
		t.Errorf("the status is %+v, %v", steps, err)
	}
}
