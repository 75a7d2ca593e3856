package pgsqltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/pgsqlstore"
	"github.com/onceward/onceward/sqlstore"
)

// The network fails around the COMMIT. What Do says is true: a success is there, and after ErrNotCommitted nothing is.
func TestCommitIsCutOff(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		const soon = 100 * time.Millisecond
		for name, test := range map[string]struct {
			moment    dbtest.Moment
			committed bool
			either    bool
		}{
			"before":    {moment: dbtest.Before},
			"within":    {moment: dbtest.Within},
			"after":     {moment: dbtest.After, either: true}, // a driver asks the server to cancel it
			"answered":  {moment: dbtest.Answered, committed: true},
			"late":      {moment: dbtest.Late, committed: true},
			"blackhole": {moment: dbtest.Blackhole},
			"hang":      {moment: dbtest.Hang},
		} {
			proxy := dbtest.NewProxy(t, dbtest.Shared(t).Addr())
			engine := newEngine(t, connect(t, d.driver, proxy.URL(d.url)))
			cut := proxy.Cut(dbtest.Fault{On: commit, Moment: test.moment, Delay: soon})
			_, err := engine.Do(t.Context(), hasty.For(alice, name, nil), writes(name))
			<-cut.Over()
			if err != nil {
				wantError(t, err, onceward.ErrNotCommitted)
				d.wantEffects(t, name, 0)
			} else {
				d.wantEffects(t, name, 1)
			}
			if !test.either && (err == nil) != test.committed {
				t.Errorf("%s: committed %t, want %t: %v", name, err == nil, test.committed, err)
			}
			if result, err2 := engine.Do(t.Context(), hasty.For(alice, name, nil), writes(name)); err2 != nil || result.Replayed != (err == nil) {
				t.Errorf("%s: the retry was replayed: %t, %v", name, result.Replayed, err2)
			}
			d.wantEffects(t, name, 1)
		}
	})
}

// Before the COMMIT was sent nothing can stand: that is known without asking.
func TestRecordIsCutOff(t *testing.T) {
	t.Parallel()
	for _, driver := range drivers {
		d := newDatabase(t, driver.name)
		proxy := dbtest.NewProxy(t, dbtest.Shared(t).Addr())
		for _, moment := range []dbtest.Moment{dbtest.Before, dbtest.Answered} {
			attempt, _, err := pgsqlstore.New(connect(t, d.driver, proxy.URL(d.url)+driver.asText)).Claim(t.Context(), &onceward.Record{Operation: "test.v1", Key: "k", Life: time.Hour}, 0)
			if err != nil {
				t.Fatal(err)
			}
			cut := proxy.Cut(dbtest.Fault{On: "INTO onceward_record", Moment: moment})
			_, err = attempt.Save(t.Context(), done)
			if wantError(t, err, onceward.ErrUnavailable); errors.Is(err, onceward.ErrCommitUnknown) {
				t.Errorf("%s: the end is known: %v", driver.name, err)
			}
			<-cut.Over()
			d.eventually(t, nothingIsHeld)
		}
		d.wantRecords(t, 0)
	}
}

// A commit that fails by a deferred constraint is a definite end.
func TestCommitIsRefused(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		d.exec(t, "ALTER TABLE effect ADD UNIQUE (key) DEFERRABLE INITIALLY DEFERRED")
		store := pgsqlstore.New(d.db)
		attempt, _, err := store.Claim(t.Context(), &onceward.Record{Operation: "test.v1", Key: "k", Life: time.Hour}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(write(t.Context(), attempt.Tx(), "k"), write(t.Context(), attempt.Tx(), "k")); err != nil {
			t.Fatal(err)
		}
		_, err = attempt.Save(t.Context(), done)
		for _, verdict := range []error{onceward.ErrCommitUnknown, onceward.ErrTaken, onceward.ErrUnavailable} {
			if err == nil || errors.Is(err, verdict) {
				t.Errorf("the error is %v, want a definite one", err)
			}
		}
		d.wantRecords(t, 0)
		d.eventually(t, nothingIsHeld)
	})
}

// A process that is cut off while its server does not hear of it keeps its claim until the idle time-out, not for ever.
func TestIdleTimeoutFreesTheClaim(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		store, err := pgsqlstore.NewWith(d.db, pgsqlstore.Options{IdleTimeout: 200 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, err = engineOn(t, store).Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			err := write(ctx, tx, "k")
			d.eventually(t, nothingIsHeld) // the work is silent for too long
			return done, err
		})
		wantError(t, err, onceward.ErrNotCommitted)
		d.wantEffects(t, "k", 0)
		d.wantRecords(t, 0)
	})
}

// The server's sessions are terminated at random, those that commit above all. No command has two effects, and none that
// was told to have failed has one.
func TestSessionsAreTerminatedAtRandom(t *testing.T) {
	withEach(t, func(t *testing.T, d *database) {
		db := connect(t, d.driver, d.url+"&application_name=victim")
		engine := newEngine(t, db)
		var killed, keys, failed atomic.Int64
		enough := func() bool { return killed.Load() >= 200 && failed.Load() >= 20 }
		deadline := time.Now().Add(30 * time.Second)
		over := func() bool { return enough() || time.Now().After(deadline) }
		var group sync.WaitGroup
		group.Go(func() {
			for !over() {
				killed.Add(int64(d.count(t, `SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
					WHERE datname = current_database() AND application_name = 'victim' AND state <> 'idle'
					AND (query = 'COMMIT' OR query LIKE '%INTO onceward_record%' OR random() < 0.01) ORDER BY random() LIMIT 1) victim`)))
			}
		})
		for range 6 {
			group.Go(func() {
				for !over() {
					key := fmt.Sprint(keys.Add(1))
					if _, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key)); err == nil || errors.Is(err, onceward.ErrCommitUnresolved) {
						continue
					}
					failed.Add(1)
					d.wantEffects(t, key, 0)
				}
			})
		}
		group.Wait()
		t.Logf("%d sessions were terminated, %d of %d commands failed", killed.Load(), failed.Load(), keys.Load())
		if !enough() {
			t.Error("too little was put to the test")
		}
		if n := d.count(t, "SELECT count(*) FROM (SELECT key FROM effect GROUP BY key HAVING count(*) > 1) doubles"); n != 0 {
			t.Errorf("%d commands have two effects", n)
		}
		if n := d.count(t, "SELECT count(*) FROM effect e FULL JOIN onceward_record r USING (key) WHERE e.key IS NULL OR r.key IS NULL"); n != 0 {
			t.Errorf("%d effects or records stand alone", n)
		}
	})
}
