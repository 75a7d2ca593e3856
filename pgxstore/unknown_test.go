package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
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

// The network fails around the COMMIT. What Do says is true: a success is there, and after ErrNotCommitted nothing is.
func TestCommitIsCutOff(t *testing.T) {
	t.Parallel()
	const soon = 100 * time.Millisecond
	for name, test := range map[string]struct {
		moment    dbtest.Moment
		committed bool
		either    bool
	}{
		"before":    {moment: dbtest.Before},
		"within":    {moment: dbtest.Within},
		"after":     {moment: dbtest.After, either: true}, // the driver asks the server to cancel it
		"answered":  {moment: dbtest.Answered, committed: true},
		"late":      {moment: dbtest.Late, committed: true},
		"blackhole": {moment: dbtest.Blackhole},
		"hang":      {moment: dbtest.Hang},
	} {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
			t.Run(name+", "+mode.String(), func(t *testing.T) {
				t.Parallel()
				d := newDatabase(t)
				proxy := dbtest.NewProxy(t, dbtest.Shared(t).Addr())
				engine := newEngine(t, connect(t, proxy.URL(d.url), func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode }))
				cut := proxy.Cut(dbtest.Fault{On: "INTO onceward_record", Moment: test.moment, Delay: soon}) // the COMMIT is in the same packet
				_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
				<-cut.Over()
				switch {
				case err != nil:
					wantError(t, err, onceward.ErrNotCommitted)
					d.wantEffects(t, "k", 0)
				default:
					d.wantEffects(t, "k", 1)
				}
				if !test.either && (err == nil) != test.committed {
					t.Errorf("committed %t, want %t: %v", err == nil, test.committed, err)
				}
				if result, err2 := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err2 != nil || result.Replayed != (err == nil) {
					t.Errorf("the retry was replayed: %t, %v", result.Replayed, err2)
				}
				d.wantEffects(t, "k", 1)
			})
		}
	}
}

// A process that is cut off while its server does not hear of it keeps its claim until the idle time-out, not for ever.
func TestIdleTimeoutFreesTheClaim(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy := dbtest.NewProxy(t, dbtest.Shared(t).Addr())
	store, err := pgxstore.NewWith(connect(t, proxy.URL(d.url), asText), pgxstore.Options{IdleTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	proxy.Cut(dbtest.Fault{On: "INTO onceward_record", Moment: dbtest.Blackhole, Delay: time.Hour})
	_, err = engineOn(t, store).Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrNotCommitted)
	d.wantEffects(t, "k", 0)

	_, err = engineOn(t, store).Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		err := write(ctx, tx, "k")
		d.eventually(t, nothingIsHeld) // the work is silent for too long
		return done, err
	})
	wantError(t, err, onceward.ErrNotCommitted)
	if errors.Is(err, onceward.ErrCommitUnresolved) {
		t.Errorf("the end is known: %v", err)
	}
	d.wantEffects(t, "k", 0)
	d.wantRecords(t, 0)
}

// The server's sessions are terminated at random, those that commit above all. No command has two effects, and none that
// was told to have failed has one.
func TestSessionsAreTerminatedAtRandom(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	pool := connect(t, d.url, nil)
	engine := newEngine(t, pool)
	deadline := time.Now().Add(3 * time.Second)
	var killed, keys, failed atomic.Int64
	var group sync.WaitGroup
	group.Go(func() {
		for time.Now().Before(deadline) {
			killed.Add(int64(d.count(t, `SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = '' AND pid <> pg_backend_pid() AND state <> 'idle'
				AND (query ILIKE 'COMMIT' OR query LIKE 'INSERT INTO onceward_record%' OR random() < 0.01) ORDER BY random() LIMIT 1) victim`)))
		}
	})
	for range 6 {
		group.Go(func() {
			for time.Now().Before(deadline) {
				key := fmt.Sprint(keys.Add(1))
				_, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key))
				if err != nil && !errors.Is(err, onceward.ErrCommitUnresolved) {
					failed.Add(1)
					retriedAfterFailure(t, d, pool, key)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d sessions were terminated, %d of %d commands failed", killed.Load(), failed.Load(), keys.Load())
	if killed.Load() == 0 || failed.Load() == 0 {
		t.Error("nothing was put to the test")
	}
	if n := d.count(t, "SELECT count(*) FROM (SELECT key FROM effect GROUP BY key HAVING count(*) > 1) doubles"); n != 0 {
		t.Errorf("%d commands have two effects", n)
	}
	if n := d.count(t, "SELECT count(*) FROM effect e FULL JOIN onceward_record r USING (key) WHERE e.key IS NULL OR r.key IS NULL"); n != 0 {
		t.Errorf("%d effects or records stand alone", n)
	}
}

// retriedAfterFailure: nothing may be there after a failure, not even later, and the retry runs.
func retriedAfterFailure(t *testing.T, d *database, pool *pgxpool.Pool, key string) {
	d.wantEffects(t, key, 0)
	engine := newEngine(t, pool)
	for range 100 {
		if _, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key)); err == nil {
			return
		}
	}
	t.Errorf("command %s did not get through", key)
}

// The commit is durable here and waits for a standby that never answers; then its session is terminated. The server's
// FATAL is not a failure of the commit.
func TestCommitThatWaitsForAStandbyIsTerminated(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t, dbtest.PostgresOptions{})
	d := databaseAt(t, server.URL("postgres")) // dropping a database would wait for the standby too
	engine := newEngine(t, connect(t, d.url, nil))
	if _, err := engine.Do(t.Context(), hasty.For(alice, "warm", nil), writes("warm")); err != nil {
		t.Fatal(err)
	}
	d.exec(t, "ALTER SYSTEM SET synchronous_standby_names = 'ghost'")
	d.exec(t, "SELECT pg_reload_conf()")
	d.eventually(t, "current_setting('synchronous_standby_names') = 'ghost'")
	answered := make(chan error, 1)
	go func() {
		_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
		answered <- err
	}()
	d.eventually(t, "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')")
	d.eventually(t, "bool_or(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
	if err := <-answered; err != nil {
		t.Errorf("the commit stands, and Do says: %v", err)
	}
	d.wantEffects(t, "k", 1)
	d.wantRecords(t, 2)
}
