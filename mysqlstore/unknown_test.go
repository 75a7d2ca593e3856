package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/sqlstore"
)

// The network fails around the COMMIT. What Do says is true: a success is there, and after ErrNotCommitted nothing is.
func TestCommitIsCutOff(t *testing.T) {
	t.Parallel()
	const soon = 100 * time.Millisecond
	for name, test := range map[string]struct {
		moment    dbtest.Moment
		committed bool
	}{
		"before":    {moment: dbtest.Before},
		"within":    {moment: dbtest.Within},
		"after":     {moment: dbtest.After, committed: true},
		"answered":  {moment: dbtest.Answered, committed: true},
		"late":      {moment: dbtest.Late, committed: true},
		"blackhole": {moment: dbtest.Blackhole},
		"hang":      {moment: dbtest.Hang},
	} {
		for mode, c := range map[string]struct {
			change func(*mysql.Config)
			commit string
		}{"together": {nil, commitAmong}, "one by one": {plain, commitAlone}} {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				d := newDatabase(t)
				proxy := dbtest.NewProxy(t, dbtest.SharedMariaDB(t).Addr())
				engine := newEngine(t, connect(t, proxy.URL(d.url), c.change))
				cut := proxy.Cut(dbtest.Fault{On: c.commit, Moment: test.moment, Delay: soon})
				_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
				<-cut.Over()
				if err != nil {
					wantError(t, err, onceward.ErrNotCommitted)
				}
				d.wantEffects(t, "k", map[bool]int{true: 1, false: 0}[err == nil])
				if (err == nil) != test.committed {
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

// TestUnknownCommitIsReadByALock: while the old transaction may still commit, its end is not told. A plain read would say that
// there is nothing, and be wrong a moment later.
func TestUnknownCommitIsReadByALock(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy := dbtest.NewProxy(t, dbtest.SharedMariaDB(t).Addr())
	engine, err := onceward.New(storeOn(connect(t, proxy.URL(d.url), nil)), onceward.Options{MemoryBytesMax: -1, ResolveTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	cut := proxy.Cut(dbtest.Fault{On: commitAmong, Moment: dbtest.Late, Delay: 500 * time.Millisecond}) // longer than the resolution
	_, err = engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrCommitUnresolved)
	d.wantEffects(t, "k", 0)
	d.wantRecords(t, 0)
	_, err = engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrInFlight)
	<-cut.Over()
	result, err := engine.Do(t.Context(), patient.For(alice, "k", nil), writes("k"))
	if err != nil || !result.Replayed {
		t.Errorf("replayed %t, %v", result.Replayed, err)
	}
	d.wantEffects(t, "k", 1)
}

// A process that is cut off while its server does not hear of it keeps its claim until the idle time-out, not for ever.
func TestIdleTimeoutFreesTheClaim(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	proxy := dbtest.NewProxy(t, dbtest.SharedMariaDB(t).Addr())
	store, err := mysqlstore.NewWith(connect(t, proxy.URL(d.url), nil), mysqlstore.Options{IdleTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	proxy.Cut(dbtest.Fault{On: commitAmong, Moment: dbtest.Blackhole, Delay: time.Hour})
	_, err = engineOn(t, store).Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrNotCommitted)
	d.wantEffects(t, "k", 0)

	_, err = engineOn(t, store).Do(t.Context(), hasty.For(alice, "k", nil), work("k", func(context.Context, sqlstore.Tx) error {
		_, err := newEngine(t, d.db).Do(t.Context(), patient.For(alice, "k", nil), writes("k")) // it comes once the work is silent for too long
		return err
	}))
	wantError(t, err, nil) // its answer is that of the other, which stands
	d.wantEffects(t, "k", 1)
	d.wantRecords(t, 1)
}

// The server's sessions are killed at random, those that commit above all. No command has two effects, and none that was told
// to have failed has one.
func TestSessionsAreKilledAtRandom(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMariaDB(t, dbtest.MariaDBOptions{})
	url := server.Database(t)
	d := databaseAt(t, server.RootURL(url[strings.LastIndex(url, "/")+1:])) // root's sessions are let live
	db := connect(t, url, nil)
	engine := newEngine(t, db)
	deadline := time.Now().Add(3 * time.Second)
	var killed, keys, failed atomic.Int64
	var group sync.WaitGroup
	group.Go(func() {
		for time.Now().Before(deadline) {
			killed.Add(killOne(t, d))
		}
	})
	for range 6 {
		group.Go(func() {
			for time.Now().Before(deadline) {
				key := fmt.Sprint(keys.Add(1))
				_, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key))
				if err != nil && !errors.Is(err, onceward.ErrCommitUnresolved) {
					failed.Add(1)
					retriedAfterFailure(t, d, db, key)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d sessions were killed, %d of %d commands failed", killed.Load(), failed.Load(), keys.Load())
	if killed.Load() == 0 || failed.Load() == 0 {
		t.Error("nothing was put to the test")
	}
	if n := d.count(t, "SELECT count(*) FROM (SELECT `key` FROM effect GROUP BY `key` HAVING count(*) > 1) doubles"); n != 0 {
		t.Errorf("%d commands have two effects", n)
	}
	if n := d.count(t, "SELECT (SELECT count(*) FROM effect LEFT JOIN onceward_record USING (`key`) WHERE state IS NULL) + (SELECT count(*) FROM onceward_record r LEFT JOIN effect e ON r.`key` = e.`key` WHERE e.`key` IS NULL)"); n != 0 {
		t.Errorf("%d effects or records stand alone", n)
	}
}

// killOne kills a session that does something, its statement alone or all of it.
func killOne(t *testing.T, d *database) int64 {
	t.Helper()
	var id int64
	err := d.db.QueryRow("SELECT id FROM information_schema.processlist WHERE user = 'test' AND command = 'Query' ORDER BY RAND() LIMIT 1").Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	how := []string{"KILL", "KILL QUERY"}[id%2]
	if _, err := d.db.Exec(fmt.Sprintf("%s %d", how, id)); err != nil {
		return 0 // it has ended by itself
	}
	return 1
}

// retriedAfterFailure: nothing may be there after a failure, not even later, and the retry runs.
func retriedAfterFailure(t *testing.T, d *database, db *sql.DB, key string) {
	d.wantEffects(t, key, 0)
	engine := newEngine(t, db)
	for range 100 {
		if _, err := engine.Do(t.Context(), patient.For(alice, key, nil), writes(key)); err == nil {
			return
		}
	}
	t.Errorf("command %s did not get through", key)
}

// The database dies and comes back under load. There is one effect a key, and each has its record.
func TestServerIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMariaDB(t, dbtest.MariaDBOptions{})
	d := databaseAt(t, server.Database(t))
	engine := newEngine(t, connect(t, d.url, nil))
	stop := make(chan struct{})
	var succeeded, failures atomic.Int64
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%d-%d", i, n)
				for { // until it is answered
					_, err := engine.Do(context.Background(), patient.For(alice, key, nil), writes(key))
					if err == nil {
						break
					}
					failures.Add(1)
					<-time.After(5 * time.Millisecond)
				}
				succeeded.Add(1)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for round := range int64(4) {
		for began := succeeded.Load(); succeeded.Load() < began+20+10*round; {
			<-time.After(time.Millisecond)
		}
		server.Kill()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	group.Wait()
	t.Logf("%d commands, %d failures on the way", succeeded.Load(), failures.Load())
	if failures.Load() == 0 {
		t.Error("nothing was put to the test")
	}
	d.wantRecords(t, int(succeeded.Load()))
	if n := d.count(t, "SELECT count(*) FROM effect"); n != int(succeeded.Load()) {
		t.Errorf("%d effects of %d commands", n, succeeded.Load())
	}
}
