package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/pgxstore"
	"github.com/onceward/onceward/storetest"
)

// poolerModes need no prepared statement to last from one transaction to the next.
var poolerModes = []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeCacheDescribe}

// behind is a pool of d through a pooler, by connections in the mode.
func (d *database) behind(t testing.TB, bouncer *dbtest.PgBouncer, mode pgx.QueryExecMode) *pgxpool.Pool {
	t.Helper()
	return connect(t, bouncer.URL(d.url), func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
}

func startPgBouncer(t testing.TB, serversMax int) *dbtest.PgBouncer {
	t.Helper()
	return dbtest.StartPgBouncer(t, dbtest.Shared(t).Addr(), dbtest.PgBouncerOptions{ServersMax: serversMax})
}

// TestStoreBehindPgBouncer is the suite again; it lacks no feature there.
func TestStoreBehindPgBouncer(t *testing.T) {
	bouncer := startPgBouncer(t, 20)
	storetest.Run[pgx.Tx](t, func(t testing.TB) storetest.Harness[pgx.Tx] {
		d := newDatabase(t)
		another := func(t testing.TB) *pgxpool.Pool { return d.behind(t, bouncer, pgx.QueryExecModeExec) }
		return d.harness(another(t), bouncer.Addr(), another)
	})
}

// Clients take turns on the pooler's connections to the server, each of which knows the prepared statements of whoever
// came by. Who counts on his own is told what to do: at the start, and by the store when it happens.
func TestExecModesBehindPgBouncer(t *testing.T) {
	t.Parallel()
	for _, mode := range execModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			pool := d.behind(t, startPgBouncer(t, 3), mode)
			works := mode != pgx.QueryExecModeCacheStatement && mode != pgx.QueryExecModeDescribeExec
			if err := pgxstore.Check(t.Context(), pool); !works {
				wantAdvice(t, err)
			} else if err != nil {
				t.Error(err)
			}
			keys, passes := 30, func(error) bool { return false }
			if mode == pgx.QueryExecModeCacheStatement {
				keys, passes = 1000, ofTheWork // it ends with the store's first error
			}
			failed := d.busy(t, newEngine(t, pool), keys, passes)
			if works && failed != nil {
				t.Error(failed)
			} else if mode == pgx.QueryExecModeCacheStatement {
				wantAdvice(t, failed)
			}
		})
	}
}

// busy takes commands under so many keys through the engine, several at once, until one fails, whose error it returns,
// but for errors that pass.
func (d *database) busy(t *testing.T, engine *onceward.Engine[pgx.Tx], keys int, passes func(error) bool) (failed error) {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	for worker := range 6 {
		group.Go(func() {
			for i := range keys {
				key := fmt.Sprint(worker, i)
				_, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key))
				if n := d.effects(t, key); n > 1 || (n == 1) != (err == nil) {
					t.Errorf("key %s has %d effects; %v", key, n, err)
				}
				mu.Lock()
				if err != nil && failed == nil && !passes(err) {
					failed = err
				}
				stop := failed != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	group.Wait()
	return failed
}

// ofTheWork reports whether err is that of a work's own statement that got lost, which the store passes on as it is.
func ofTheWork(err error) bool {
	var engine *onceward.Error
	return !errors.As(err, &engine) && strings.Contains(err.Error(), "prepared statement")
}

func wantAdvice(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "default_query_exec_mode=exec") || !strings.Contains(err.Error(), "pooler") && !strings.Contains(err.Error(), "PgBouncer") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

// sessionState is a connection's process, its settings, its advisory locks and its prepared statements.
const sessionState = `SELECT concat_ws(' ', pg_backend_pid(), current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout'),
	current_setting('transaction_isolation'), current_setting('transaction_read_only'), nullif(current_setting('onceward.lock_timeout', true), ''),
	(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()), (SELECT count(*) FROM pg_prepared_statements))`

// However an attempt ends, the next client of its connection finds nothing of it.
func TestNothingLeaksToTheNextClientOfPgBouncer(t *testing.T) {
	t.Parallel()
	for _, mode := range poolerModes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			d, bouncer := newDatabase(t), startPgBouncer(t, 1)
			pool, next := d.behind(t, bouncer, mode), d.behind(t, bouncer, pgx.QueryExecModeExec)
			engine := newEngine(t, pool)
			state := func() (s string) {
				t.Helper()
				if err := next.QueryRow(t.Context(), sessionState).Scan(&s); err != nil {
					t.Fatal(err)
				}
				return s
			}
			before := state()
			wait := &onceward.Operation{Name: "test.v1", Wait: 20 * time.Millisecond}
			d.heldClaim(t, "held") // past the pooler
			for name, attempt := range map[string]func() error{
				"saved":    func() error { _, err := engine.Do(t.Context(), patient.For(alice, "k", nil), writes("k")); return err },
				"replayed": func() error { _, err := engine.Do(t.Context(), patient.For(alice, "k", nil), writes("k")); return err },
				"in flight": func() error {
					_, err := engine.Do(t.Context(), hasty.For(alice, "held", nil), writes("held"))
					return err
				},
				"waited": func() error {
					_, err := engine.Do(t.Context(), wait.For(alice, "held", nil), writes("held"))
					return err
				},
				"rolled back": func() error { return failsWith(t, engine, func(context.Context, pgx.Tx) error { return errWork }) },
				"aborted":     func() error { return failsWith(t, engine, execute("SELECT 1/0")) },
				"raw COMMIT":  func() error { return failsWith(t, engine, execute("COMMIT")) },
				"joined":      func() error { return joinsAt(t, pool, engine) },
			} {
				if err := attempt(); err != nil {
					for _, expected := range []error{onceward.ErrInFlight, errWork, onceward.ErrTxEnded} {
						if errors.Is(err, expected) {
							err = nil
							break
						}
					}
					if err != nil && name != "aborted" {
						t.Errorf("%s: %v", name, err)
					}
				}
				if after := state(); after != before {
					t.Errorf("%s: the next client finds %q, where it was %q", name, after, before)
				}
			}
		})
	}
}

func failsWith(t *testing.T, engine *onceward.Engine[pgx.Tx], work func(ctx context.Context, tx pgx.Tx) error) error {
	_, err := engine.Do(t.Context(), patient.For(alice, "fails", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		return done, errors.Join(write(ctx, tx, "fails"), work(ctx, tx))
	})
	return err
}

func joinsAt(t *testing.T, pool *pgxpool.Pool, engine *onceward.Engine[pgx.Tx]) error {
	return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return joins(t, engine, tx, "joined", func(ctx context.Context, tx pgx.Tx) error { return write(ctx, tx, "joined") })
	})
}

// A caller who is cut off in his work, or cuts his own statement off, leaves neither a claim nor a transaction behind the
// pooler; the connection is there for others.
func TestClientOfPgBouncerIsCutOff(t *testing.T) {
	t.Parallel()
	d, bouncer := newDatabase(t), startPgBouncer(t, 1)
	proxy := dbtest.NewProxy(t, bouncer.Addr())
	cut := newEngine(t, connect(t, proxy.URL(d.url), asText))
	_, err := cut.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		err := write(ctx, tx, "k")
		proxy.Sever()
		return done, err
	})
	wantError(t, err, onceward.ErrNotCommitted)
	d.eventually(t, nothingIsHeld)

	ctx, cancel := context.WithCancel(t.Context())
	engine := newEngine(t, d.behind(t, bouncer, pgx.QueryExecModeExec))
	_, err = engine.Do(ctx, hasty.For(alice, "k", nil), func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
		err := write(ctx, tx, "k")
		go func() {
			d.eventually(t, sleepsInAQuery)
			cancel()
		}()
		return done, errors.Join(err, execute("SELECT pg_sleep(600)")(ctx, tx))
	})
	wantError(t, err, context.Canceled)
	d.eventually(t, nothingIsHeld)
	d.eventually(t, nothingIsOpen)
	if _, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil {
		t.Error(err)
	}
	d.wantEffects(t, "k", 1)
}

// The pooler's own connection breaks around the COMMIT. The pooler's word for that is no failure of the commit.
func TestPgBouncerLosesItsServerInTheCommit(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		moment    dbtest.Moment
		committed bool
	}{
		"before": {dbtest.Before, false}, "answered": {dbtest.Answered, true},
	} {
		d := newDatabase(t)
		proxy := dbtest.NewProxy(t, dbtest.Shared(t).Addr())
		bouncer := dbtest.StartPgBouncer(t, proxy.Addr(), dbtest.PgBouncerOptions{})
		engine := newEngine(t, d.behind(t, bouncer, pgx.QueryExecModeExec))
		cut := proxy.Cut(dbtest.Fault{On: "INTO onceward_record", Moment: test.moment})
		_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
		<-cut.Over()
		if (err == nil) != test.committed {
			t.Errorf("%s: %v", name, err)
		} else if err != nil {
			wantError(t, err, onceward.ErrNotCommitted)
			d.wantEffects(t, "k", 0)
		}
		if result, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil || result.Replayed != test.committed {
			t.Errorf("%s: the retry was replayed: %t, %v", name, result.Replayed, err)
		}
		d.wantEffects(t, "k", 1)
	}
}

// The pooler is killed and started again under load. No command has two effects, and none that was told to have failed
// has one.
func TestPgBouncerIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	d, bouncer := newDatabase(t), startPgBouncer(t, 4)
	pool := d.behind(t, bouncer, pgx.QueryExecModeExec)
	engine := newEngine(t, pool)
	var keys, answered, failed atomic.Int64
	over := make(chan struct{})
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				key := fmt.Sprint(keys.Add(1))
				_, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key))
				if err == nil {
					answered.Add(1)
				} else if !errors.Is(err, onceward.ErrCommitUnresolved) {
					failed.Add(1)
					d.wantEffects(t, key, 0)
				}
			}
		})
	}
	for range 5 {
		for reached := answered.Load() + 20; answered.Load() < reached; time.Sleep(time.Millisecond) {
		}
		bouncer.Kill()
		if err := bouncer.Start(); err != nil {
			t.Error(err)
			break
		}
	}
	close(over)
	group.Wait()
	if failed.Load() == 0 {
		t.Error("nothing was put to the test")
	}
	if n := d.count(t, "SELECT count(*) FROM (SELECT key FROM effect GROUP BY key HAVING count(*) > 1) doubles"); n != 0 {
		t.Errorf("%d commands have two effects", n)
	}
	if n := d.count(t, "SELECT count(*) FROM effect e FULL JOIN onceward_record r USING (key) WHERE e.key IS NULL OR r.key IS NULL"); n != 0 {
		t.Errorf("%d effects or records stand alone", n)
	}
	t.Logf("%d of %d commands failed", failed.Load(), keys.Load())
}
