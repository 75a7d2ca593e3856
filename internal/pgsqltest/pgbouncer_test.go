package pgsqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/pgsqlstore"
	"github.com/onceward/onceward/sqlstore"
)

// Clients take turns on the pooler's connections to the server. A driver that counts on prepared statements to last is told
// of at the start, and by the store when it happens; with the others all works, however many they are.
func TestModesBehindPgBouncer(t *testing.T) {
	t.Parallel()
	for _, m := range modes {
		t.Run(m.driver+m.mode, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, m.driver)
			bouncer := dbtest.StartPgBouncer(t, dbtest.Shared(t).Addr(), dbtest.PgBouncerOptions{ServersMax: 3})
			db := connect(t, m.driver, bouncer.URL(d.url)+m.mode)
			works := !strings.Contains(m.mode, "cache_statement")
			if err := pgsqlstore.Check(t.Context(), db); !works {
				wantAdvice(t, err)
			} else if err != nil {
				t.Error(err)
			}
			keys, passes := 30, func(error) bool { return false }
			if !works {
				keys, passes = 1000, ofTheWork // it ends with the store's first error
			}
			failed := d.busy(t, newEngine(t, db), keys, passes)
			if !works {
				wantAdvice(t, failed)
			} else if failed != nil {
				t.Error(failed)
			}
		})
	}
}

// ofTheWork reports whether err is that of a work's own statement that got lost, which the store passes on as it is.
func ofTheWork(err error) bool {
	var engine *onceward.Error
	return !errors.As(err, &engine) && strings.Contains(err.Error(), "prepared statement")
}

func wantAdvice(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), "default_query_exec_mode=exec") || !strings.Contains(err.Error(), "binary_parameters=yes") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

// busy takes commands under so many keys through the engine, several at once, until one fails, whose error it returns,
// but for errors that pass.
func (d *database) busy(t *testing.T, engine *onceward.Engine[sqlstore.Tx], keys int, passes func(error) bool) (failed error) {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	for worker := range 6 {
		group.Go(func() {
			for i := range keys {
				key := fmt.Sprint(worker, i)
				_, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key))
				if _, found := engine.Find(t.Context(), hasty.For(alice, key, nil)); err == nil {
					err = found
				}
				if n := d.effects(t, key); n > 1 {
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

// However an attempt ends, the next client of its connection finds nothing of it.
func TestNothingLeaksToTheNextClientOfPgBouncer(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		bouncer := dbtest.StartPgBouncer(t, dbtest.Shared(t).Addr(), dbtest.PgBouncerOptions{ServersMax: 1})
		url := bouncer.URL(d.url) + "&default_query_exec_mode=exec"
		if d.driver == "postgres" {
			url = bouncer.URL(d.url) + "&binary_parameters=yes"
		}
		db, next := connect(t, d.driver, url), connect(t, d.driver, url)
		engine := newEngine(t, db)
		fails := func(work func(context.Context, sqlstore.Tx) error) error {
			_, err := engine.Do(t.Context(), patient.For(alice, "fails", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
				return done, errors.Join(write(ctx, tx, "fails"), work(ctx, tx), errWork)
			})
			return err
		}
		do := func(o *onceward.Operation, key string) error {
			_, err := engine.Do(t.Context(), o.For(alice, key, nil), writes(key))
			return err
		}
		d.heldClaim(t, "held") // past the pooler
		before := settings(t, next)
		for name, attempt := range map[string]struct {
			run  func() error
			want error
		}{
			"saved":       {func() error { return do(patient, "k") }, nil},
			"in flight":   {func() error { return do(hasty, "held") }, onceward.ErrInFlight},
			"waited":      {func() error { return do(&onceward.Operation{Name: "test.v1", Wait: 20e6}, "held") }, onceward.ErrInFlight},
			"rolled back": {func() error { return fails(func(context.Context, sqlstore.Tx) error { return nil }) }, errWork},
			"aborted":     {func() error { return fails(execute("SELECT 1/0")) }, errWork},
			"swept":       {func() error { _, err := pgsqlstore.New(db).Sweep(t.Context(), 0, 1); return err }, nil},
			"joined": {func() error {
				d := &database{driver: d.driver, db: db}
				d.inTx(t, nil, func(tx *sql.Tx) {
					if err := joins(t, engine, tx, "joined", func(ctx context.Context, tx sqlstore.Tx) error { return write(ctx, tx, "joined") }); err != nil {
						t.Error(err)
					}
				})
				return nil
			}, nil},
		} {
			wantError(t, attempt.run(), attempt.want)
			if after := settings(t, next); after != before {
				t.Errorf("%s: the next client finds %q, where it was %q", name, after, before)
			}
		}
	})
}
