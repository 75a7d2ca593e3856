package pgsqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/pgsqlstore"
	"github.com/onceward/onceward/pgxstore"
	"github.com/onceward/onceward/sqlstore"
)

// modes are the drivers and the modes that change what they send.
var modes = []struct{ driver, mode string }{
	{"pgx", "&default_query_exec_mode=cache_statement"},
	{"pgx", "&default_query_exec_mode=cache_describe"},
	{"pgx", "&default_query_exec_mode=describe_exec"},
	{"pgx", "&default_query_exec_mode=exec"},
	{"pgx", "&default_query_exec_mode=simple_protocol"},
	{"postgres", ""},
	{"postgres", "&binary_parameters=yes"},
}

func TestEveryMode(t *testing.T) {
	t.Parallel()
	for _, m := range modes {
		t.Run(m.driver+m.mode, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, m.driver)
			db := connect(t, m.driver, d.url+m.mode)
			engine := newEngine(t, db)
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
			if record, err := engine.Find(t.Context(), hasty.For(alice, "k", nil)); err != nil || record.State != onceward.StateCompleted || time.Since(record.CreatedAt).Abs() > time.Minute {
				t.Errorf("found %+v, %v", record, err)
			}
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := joins(t, engine, tx, "fails", execute("SELECT 1/0")); err == nil {
				t.Error("the joined work's error is lost")
			}
			err = joins(t, engine, tx, "joined", func(ctx context.Context, tx sqlstore.Tx) error { return write(ctx, tx, "joined") })
			if err := errors.Join(err, tx.Commit()); err != nil {
				t.Error(err)
			}
			d.wantEffects(t, "joined", 1)
			d.exec(t, "UPDATE onceward_record SET kept_until = now() - interval '1 hour'")
			if n, err := pgsqlstore.New(db).Sweep(t.Context(), time.Minute, 10); n != 2 || err != nil {
				t.Errorf("swept %d, %v; want 2", n, err)
			}
			if err := pgsqlstore.Check(t.Context(), db); err != nil {
				t.Error(err)
			}
		})
	}
}

// One table, two stores: what one has carried out the other replays, and while one runs the other is refused.
func TestRecordsAreThoseOfPgxstore(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		pool, err := pgxpool.New(t.Context(), d.url)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if err := pgxstore.Migrate(t.Context(), pool); err != nil {
			t.Error(err)
		}
		here, there := newEngine(t, d.db), engineOn(t, pgxstore.New(pool))
		native := func(key string) onceward.Work[pgx.Tx] {
			return func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
				_, err := here.Do(ctx, hasty.For(alice, key, 1), writes(key))
				wantError(t, err, onceward.ErrInFlight)
				_, err = tx.Exec(ctx, "INSERT INTO effect VALUES ($1)", key)
				return done, err
			}
		}
		_, err1 := there.Do(t.Context(), hasty.For(alice, "theirs", 1), native("theirs"))
		_, err2 := here.Do(t.Context(), hasty.For(alice, "ours", 1), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			_, err := there.Do(ctx, hasty.For(alice, "ours", 1), native("ours"))
			wantError(t, err, onceward.ErrInFlight)
			return done, write(ctx, tx, "ours")
		})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"ours", "theirs"} {
			one, err1 := here.Do(t.Context(), hasty.For(alice, key, 1), writes(key))
			two, err2 := there.Do(t.Context(), hasty.For(alice, key, 1), native(key))
			if err1 != nil || err2 != nil || !one.Replayed || !two.Replayed || string(one.Outcome.Data) != "done" || string(two.Outcome.Data) != "done" {
				t.Errorf("%s: %+v, %v; %+v, %v", key, one, err1, two, err2)
			}
			first, err1 := here.Find(t.Context(), hasty.For(alice, key, 1))
			second, err2 := there.Find(t.Context(), hasty.For(alice, key, 1))
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			first.Life, first.CreatedAt, first.ExpiresAt = second.Life, first.CreatedAt.UTC(), first.ExpiresAt.UTC()
			second.CreatedAt, second.ExpiresAt = second.CreatedAt.UTC(), second.ExpiresAt.UTC()
			if fmt.Sprint(*first) != fmt.Sprint(*second) {
				t.Errorf("%s is read as %+v here, as %+v there", key, *first, *second)
			}
			d.wantEffects(t, key, 1)
		}
		if err := pgxstore.Check(t.Context(), pool); err != nil {
			t.Error(err)
		}
	})
}

// The winner commits while another waits for its claim. A snapshot from before the wait would miss it.
func TestWinnerIsReadAfterTheWait(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
			d.exec(t, fmt.Sprintf("ALTER DATABASE %s SET default_transaction_isolation = '%s'", d.name(t), isolation))
			release := d.heldClaim(t, isolation)
			engine := newEngine(t, connect(t, d.driver, d.url))
			answered := make(chan error, 1)
			go func() {
				result, err := engine.Do(t.Context(), patient.For(alice, isolation, nil), func(context.Context, sqlstore.Tx) (onceward.Outcome, error) {
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
			d.wantEffects(t, isolation, 1)
		}
	})
}

// The wait for a claim has a time-out of its own; the work finds the one that the connection had.
func TestWorkNeverSeesOurLockTimeout(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		for _, own := range []string{"0", "7s"} {
			d.exec(t, fmt.Sprintf("ALTER DATABASE %s SET lock_timeout = '%s'", d.name(t), own))
			release := d.heldClaim(t, own)
			engine := newEngine(t, connect(t, d.driver, d.url))
			seen, answered := "", make(chan error, 1)
			go func() {
				_, err := engine.Do(t.Context(), patient.For(alice, own, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
					return done, errors.Join(write(ctx, tx, own), tx.QueryRowContext(ctx, "SHOW lock_timeout").Scan(&seen))
				})
				answered <- err
			}()
			d.eventually(t, waitsForLock)
			release(errWork)
			if err := <-answered; err != nil || seen != own {
				t.Errorf("the work saw a lock_timeout of %q, want %q; %v", seen, own, err)
			}
		}
	})
}

// A wait is over when the caller's patience is, or the server's.
func TestWaitIsBounded(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		d.heldClaim(t, "k")
		brief := &onceward.Operation{Name: "test.v1", Wait: 30 * time.Millisecond}
		_, err := newEngine(t, d.db).Do(t.Context(), brief.For(alice, "k", nil), writes("k"))
		wantError(t, err, onceward.ErrInFlight)
		d.exec(t, "ALTER DATABASE "+d.name(t)+" SET statement_timeout = '300ms'")
		_, err = newEngine(t, connect(t, d.driver, d.url)).Do(t.Context(), patient.For(alice, "k", nil), writes("k"))
		wantError(t, err, onceward.ErrInFlight)
		d.wantEffects(t, "k", 0)
	})
}

// The server refuses a plan that it prepared before the schema changed. That costs a round trip, and nobody notices.
func TestSchemaChangesUnderCachedStatements(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		db := connect(t, d.driver, d.url)
		db.SetMaxOpenConns(1)
		engine := newEngine(t, db)
		for i, change := range []string{
			"SELECT 1",
			"ALTER TABLE onceward_record ALTER COLUMN operation TYPE varchar(200)",
			"ALTER TABLE onceward_record ALTER COLUMN operation TYPE text, ADD COLUMN more text",
			"ALTER TABLE onceward_record DROP COLUMN more",
		} {
			d.exec(t, change)
			key := fmt.Sprint(i)
			for _, replayed := range []bool{false, true} {
				result, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key))
				if err != nil || result.Replayed != replayed {
					t.Errorf("after %s: replayed %t, %v", change, result.Replayed, err)
				}
			}
			d.wantEffects(t, key, 1)
		}
	})
}

// After the server came back, the pool holds connections to one that has gone. No caller meets them.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	for _, driver := range drivers {
		server := dbtest.StartPostgres(t, dbtest.PostgresOptions{})
		d := databaseAt(t, driver.name, server.URL("postgres"))
		db := connect(t, driver.name, d.url)
		var conns []*sql.Conn
		for range 5 {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
		for _, conn := range conns {
			_ = conn.Close()
		}
		engine := newEngine(t, db)
		server.Kill()
		_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
		wantError(t, err, onceward.ErrUnavailable)
		for _, conn := range idle(t, server, db) {
			_ = conn.Close()
		}
		if _, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil {
			t.Errorf("%s: %v", driver.name, err)
		}
	}
}

// idle starts the server, fills the pool, restarts the server, and returns the pool's connections, all of which are dead.
func idle(t *testing.T, server *dbtest.Postgres, db *sql.DB) (conns []*sql.Conn) {
	t.Helper()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		conn, err := db.Conn(t.Context())
		if err == nil {
			err = conn.PingContext(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	server.Kill()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	return conns
}

func TestNoConnection(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		exhausted := connect(t, d.driver, d.url)
		exhausted.SetMaxOpenConns(1)
		conn, err := exhausted.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		want := &onceward.Record{Operation: "test.v1"}
		for name, db := range map[string]*sql.DB{
			"exhausted":        exhausted,
			"no server":        connect(t, d.driver, "postgres://postgres@127.0.0.1:1/none?sslmode=disable"),
			"no such database": connect(t, d.driver, dbtest.Shared(t).URL("none")),
		} {
			store, err := pgsqlstore.NewWith(db, pgsqlstore.Options{ClaimTimeout: 100 * time.Millisecond})
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
			_, err = newEngine(t, db).Do(ctx, hasty.For(alice, "k", nil), writes("k"))
			if wantError(t, err, onceward.ErrUnavailable); name == "exhausted" {
				wantError(t, err, context.DeadlineExceeded)
			}
			cancel()
		}
	})
}

func TestSchemaIsMissing(t *testing.T) {
	t.Parallel()
	for _, driver := range drivers {
		db := connect(t, driver.name, dbtest.Database(t))
		store, want := pgsqlstore.New(db), &onceward.Record{Operation: "test.v1"}
		_, _, claim := store.Claim(t.Context(), want, 0)
		_, find := store.Find(t.Context(), want)
		_, sweep := store.Sweep(t.Context(), 0, 1)
		for step, err := range map[string]error{"claim": claim, "find": find, "sweep": sweep, "check": pgsqlstore.Check(t.Context(), db)} {
			if !errors.Is(err, onceward.ErrSchema) || errors.Is(err, onceward.ErrUnavailable) {
				t.Errorf("%s: the error does not say what to do: %v", step, err)
			}
		}
		steps, err := pgsqlstore.Status(t.Context(), db)
		if err != nil || len(steps) == 0 || !steps[0].AppliedAt.IsZero() || !strings.Contains(steps[0].SQL, "CREATE TABLE onceward_record") {
			t.Errorf("the status is %+v, %v", steps, err)
		}
	}
}

// An attempt says that it writes, whatever the default of the connection is.
func TestDefaultReadOnlyIsOverruled(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		d.exec(t, "ALTER DATABASE "+d.name(t)+" SET default_transaction_read_only = on")
		db := connect(t, d.driver, d.url)
		if _, err := newEngine(t, db).Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil {
			t.Error(err)
		}
		d.wantEffects(t, "k", 1)
	})
}

// Neither key nor outcome shows in an error, not even in what the server adds to its own.
func TestErrorsTellNoValues(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		d.exec(t, "ALTER TABLE onceward_record ADD CHECK (outcome_kind <> 'test')")
		_, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, "s3cret", nil), writes("k"))
		wantError(t, err, onceward.ErrNotCommitted)
		var server interface{ SQLState() string }
		if !errors.As(err, &server) || server.SQLState() != "23514" {
			t.Fatalf("the error is %v, want the server's", err)
		}
		if told := fmt.Sprintf("%+v %#v", err, server); strings.Contains(told, "s3cret") || strings.Contains(told, "646f6e65") {
			t.Errorf("the error tells a value: %s", told)
		}
		d.wantEffects(t, "k", 0)
	})
}

// The collision is made: it cannot be found.
func TestCollisionIsRefused(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		engine := newEngine(t, d.db)
		if _, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil {
			t.Fatal(err)
		}
		d.exec(t, "UPDATE onceward_record SET key = 'other'")
		_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
		wantError(t, err, onceward.ErrCollision)
		d.inTx(t, nil, func(tx *sql.Tx) {
			wantError(t, joins(t, engine, tx, "k", func(ctx context.Context, tx sqlstore.Tx) error { return write(ctx, tx, "k") }), onceward.ErrCollision)
			if err := write(t.Context(), tx, "after"); err != nil {
				t.Error(err)
			}
		})
		d.wantEffects(t, "k", 1)
		d.wantEffects(t, "after", 1)
	})
}

// Migrations run once however many processes start at the same moment, with whichever store.
func TestMigrateFromSeveralProcesses(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	var group sync.WaitGroup
	for i := range 9 {
		group.Go(func() {
			var err error
			if i%3 < 2 {
				err = pgsqlstore.Migrate(t.Context(), connect(t, drivers[i%3].name, url))
			} else if pool, err2 := pgxpool.New(t.Context(), url); err2 == nil {
				defer pool.Close()
				err = pgxstore.Migrate(t.Context(), pool)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, driver := range drivers {
		db := connect(t, driver.name, url)
		steps, err := pgsqlstore.Status(t.Context(), db)
		if err != nil || len(steps) != len(pgsqlstore.Migrations()) {
			t.Fatalf("the status is %v, %v", steps, err)
		}
		for _, step := range steps {
			if step.AppliedAt.IsZero() {
				t.Errorf("number %d was not applied", step.Number)
			}
		}
		if err := pgsqlstore.Check(t.Context(), db); err != nil {
			t.Error(err)
		}
	}
	db := connect(t, "pgx", url)
	if _, err := db.ExecContext(t.Context(), "INSERT INTO onceward_migration VALUES (999, 'later')"); err != nil {
		t.Fatal(err)
	}
	if err := pgsqlstore.Migrate(t.Context(), db); err == nil || !strings.Contains(err.Error(), "999") {
		t.Errorf("a database ahead of the program was taken: %v", err)
	}
}
