package mysqlstore_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/sqlstore"
)

// parameters makes connections whose session has these variables.
func parameters(of map[string]string) func(*mysql.Config) {
	return func(c *mysql.Config) { c.Params = maps.Clone(of) }
}

// Nothing that a data source name can say has an influence on the store.
func TestEveryDataSourceName(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("Tokyo", 9*60*60)
	for name, change := range map[string]func(*mysql.Config){
		"as it is recommended":          nil,
		"plain":                         plain,
		"times are parsed":              func(c *mysql.Config) { c.ParseTime, c.Loc = true, tokyo },
		"rows found are counted":        func(c *mysql.Config) { c.ClientFoundRows = true },
		"columns have long names":       func(c *mysql.Config) { c.ColumnsWithAlias = true },
		"another character set":         func(c *mysql.Config) { plain(c); _ = c.Apply(mysql.Charset("gbk", "gbk_chinese_ci")) },
		"compressed":                    func(c *mysql.Config) { _ = c.Apply(mysql.EnableCompression(true)) },
		"another zone":                  parameters(map[string]string{"time_zone": "'+09:00'"}),
		"no SQL mode":                   parameters(map[string]string{"sql_mode": "''"}),
		"another SQL mode":              parameters(map[string]string{"sql_mode": "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,TRADITIONAL,PIPES_AS_CONCAT,IGNORE_SPACE,ONLY_FULL_GROUP_BY'"}),
		"Oracle's SQL mode":             parameters(map[string]string{"sql_mode": "'ORACLE'"}),
		"read uncommitted":              parameters(map[string]string{"tx_isolation": "'READ-UNCOMMITTED'"}),
		"serializable":                  parameters(map[string]string{"tx_isolation": "'SERIALIZABLE'"}),
		"read-only transactions":        parameters(map[string]string{"tx_read_only": "1"}),
		"safe updates":                  parameters(map[string]string{"sql_safe_updates": "1", "sql_select_limit": "1"}),
		"commits that begin anew":       parameters(map[string]string{"completion_type": "'CHAIN'"}),
		"savepoints of another default": parameters(map[string]string{"innodb_lock_wait_timeout": "1", "lock_wait_timeout": "1"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			db := connect(t, d.url, change)
			before := settings(t, db)
			lives(t, d, db)
			if after := settings(t, db); after != before {
				t.Errorf("the connection has %s, it had %s", after, before)
			}
		})
	}
}

// lives takes a key through its life, by way of db.
func lives(t *testing.T, d *database, db *sql.DB) {
	t.Helper()
	engine := newEngine(t, db)
	do := func(key string, meaning any, want error, replayed bool) {
		t.Helper()
		result, err := engine.Do(t.Context(), hasty.For(alice, key, meaning), writes(key))
		if wantError(t, err, want); err == nil && (string(result.Outcome.Data) != "done" || result.Replayed != replayed) {
			t.Errorf("answered %s, replayed %t", result.Outcome.Data, result.Replayed)
		}
	}
	const key = `k' "\ ¥`
	do(key, 1, nil, false)
	do(key, 1, nil, true)
	do(key, 2, onceward.ErrKeyReused, false)
	d.exec(t, "UPDATE onceward_record SET expires_at = UTC_TIMESTAMP(6)")
	do(key, 2, nil, false)
	do(key, 2, nil, true)
	d.wantEffects(t, key, 2)
	record, err := engine.Find(t.Context(), hasty.For(alice, key, nil))
	if err != nil || record.State != onceward.StateCompleted || record.Key != key || record.ExpiresAt.Sub(record.CreatedAt) != 24*time.Hour {
		t.Errorf("found %+v, %v", record, err)
	} else if drift := time.Since(record.CreatedAt); drift < -time.Minute || drift > time.Minute || record.Life > 24*time.Hour || record.Life < 23*time.Hour {
		t.Errorf("it was created at %v and lives %v more", record.CreatedAt, record.Life)
	}
	d.exec(t, "UPDATE onceward_record SET kept_until = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR")
	if n, err := mysqlstore.New(db).Sweep(t.Context(), time.Minute, 10); n != 1 || err != nil {
		t.Errorf("swept %d, %v; want 1", n, err)
	}
	if err := mysqlstore.Check(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// TestF30_SessionsInDifferentZonesAgree: the clock is the server's in UTC; what hour a session calls it does not matter.
func TestF30_SessionsInDifferentZonesAgree(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	in := func(zone string) *onceward.Engine[sqlstore.Tx] {
		return newEngine(t, connect(t, d.url, parameters(map[string]string{"time_zone": "'" + zone + "'"})))
	}
	short := &onceward.Operation{Name: "test.v1", Retention: time.Hour}
	for i, zones := range [][2]string{{"+13:00", "-12:00"}, {"-12:00", "+13:00"}} {
		key := fmt.Sprint(i)
		if _, err := in(zones[0]).Do(t.Context(), short.For(alice, key, nil), writes(key)); err != nil {
			t.Fatal(err)
		}
		result, err := in(zones[1]).Do(t.Context(), short.For(alice, key, nil), writes(key))
		if err != nil || !result.Replayed {
			t.Errorf("from %s to %s: replayed %t, %v", zones[0], zones[1], result.Replayed, err)
		}
		d.exec(t, "UPDATE onceward_record SET expires_at = expires_at - INTERVAL 1 HOUR")
		result, err = in(zones[1]).Do(t.Context(), short.For(alice, key, nil), writes(key))
		if err != nil || result.Replayed {
			t.Errorf("from %s to %s: an expired record was replayed: %t, %v", zones[0], zones[1], result.Replayed, err)
		}
		d.wantEffects(t, key, 2)
	}
}

// A wait is over when the caller's patience is.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.heldClaim(t, "k")
	brief := &onceward.Operation{Name: "test.v1", Wait: 30 * time.Millisecond}
	began := time.Now()
	_, err := newEngine(t, d.db).Do(t.Context(), brief.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrInFlight)
	if took := time.Since(began); took < brief.Wait {
		t.Errorf("it waited %v", took)
	}
}

// A caller who waits holds no connection: others go on with the only one there is.
func TestF28_WaitersHoldNoConnection(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	release := d.heldClaim(t, "k")
	db := connect(t, d.url, nil)
	db.SetMaxOpenConns(1)
	const waiters = 10
	waited := make(chan error, waiters)
	for range waiters {
		engine := newEngine(t, db) // of its own, so that no flight keeps them apart
		go func() {
			result, err := engine.Do(context.Background(), patient.For(alice, "k", nil), writes("again"))
			if err == nil && !result.Replayed {
				err = errors.New("it was not replayed")
			}
			waited <- err
		}()
	}
	engine := newEngine(t, db)
	for i := range 50 {
		if _, err := engine.Do(t.Context(), hasty.For(alice, fmt.Sprint(i), nil), writes("other")); err != nil {
			t.Fatal(err)
		}
	}
	if err := release(nil); err != nil {
		t.Fatal(err)
	}
	for range waiters {
		wantError(t, <-waited, nil)
	}
	d.wantEffects(t, "other", 50)
	d.wantEffects(t, "again", 0)
	d.wantEffects(t, "k", 1)
}

func TestCallerHangsUpWhileHeWaits(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	release := d.heldClaim(t, "k")
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	engine := newEngine(t, connect(t, d.url, nil))
	go func() {
		_, err := engine.Do(ctx, patient.For(alice, "k", nil), writes("k"))
		answered <- err
	}()
	d.eventually(t, "(SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE()) > 2")
	cancel()
	wantError(t, <-answered, context.Canceled)
	wantError(t, release(nil), nil)
	d.wantEffects(t, "k", 1)
	d.wantRecords(t, 1)
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	want := &onceward.Record{Operation: "test.v1"}
	for name, db := range map[string]*sql.DB{
		"exhausted":        exhausted(t, d.url),
		"no server":        connect(t, "mysql://u:s3cret@127.0.0.1:1/none", nil),
		"no such database": connect(t, dbtest.SharedMariaDB(t).URL("test_none"), nil),
		"closed":           closed(t, d.url),
	} {
		store, err := mysqlstore.NewWith(db, mysqlstore.Options{ClaimTimeout: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		_, _, claim := store.Claim(t.Context(), want, onceward.WaitMax)
		_, find := store.Find(t.Context(), want)
		_, sweep := store.Sweep(t.Context(), 0, 1)
		for step, err := range map[string]error{"claim": claim, "find": find, "sweep": sweep} {
			if !errors.Is(err, onceward.ErrUnavailable) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s, %s: %v", name, step, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err = newEngine(t, db).Do(ctx, hasty.For(alice, "k", nil), writes("k"))
		if wantError(t, err, onceward.ErrUnavailable); name == "exhausted" {
			wantError(t, err, context.DeadlineExceeded)
		}
		cancel()
	}
}

// exhausted is a pool whose only connection is out until the test's end.
func exhausted(t *testing.T, url string) *sql.DB {
	t.Helper()
	db := connect(t, url, nil)
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return db
}

func closed(t *testing.T, url string) *sql.DB {
	t.Helper()
	db := connect(t, url, nil)
	_ = db.Close()
	return db
}

// A connection that somebody has left in a transaction is not used: to begin another on it would commit that.
func TestConnectionIsLeftInATransaction(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	db := connect(t, d.url, nil)
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"START TRANSACTION", "INSERT INTO effect VALUES ('left')"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	engine := newEngine(t, db)
	_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrUnavailable)
	_, err = engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, nil)
	d.wantEffects(t, "left", 0)
	d.wantEffects(t, "k", 1)
}

// A connection that the pool holds and the server has closed is noticed before anything depends on it.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMariaDB(t, dbtest.MariaDBOptions{})
	d := databaseAt(t, server.Database(t))
	engine := newEngine(t, d.db)
	if _, err := engine.Do(t.Context(), hasty.For(alice, "before", nil), writes("before")); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrUnavailable)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, nil)
	result, err := engine.Do(t.Context(), hasty.For(alice, "before", nil), writes("before"))
	if err != nil || !result.Replayed {
		t.Errorf("replayed %t, %v", result.Replayed, err)
	}
	d.wantRecords(t, 2)
}

func TestSchemaIsMissing(t *testing.T) {
	t.Parallel()
	db := connect(t, dbtest.MariaDBDatabase(t), nil)
	store, want := mysqlstore.New(db), &onceward.Record{Operation: "test.v1"}
	_, _, claim := store.Claim(t.Context(), want, 0)
	_, find := store.Find(t.Context(), want)
	_, sweep := store.Sweep(t.Context(), 0, 1)
	for step, err := range map[string]error{"claim": claim, "find": find, "sweep": sweep, "check": mysqlstore.Check(t.Context(), db)} {
		if !errors.Is(err, onceward.ErrSchema) || errors.Is(err, onceward.ErrUnavailable) {
			t.Errorf("%s: the error does not say what to do: %v", step, err)
		}
	}
}

// What the store cannot work with is said at its first use, and by Check.
func TestServerIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		change   func(*mysql.Config)
		fault    string
	}{
		"MySQL":                    {settings: []string{"version=8.0.36"}, fault: "MariaDB 10.6 or later is needed"},
		"an old MariaDB":           {settings: []string{"version=10.5.23-MariaDB"}, fault: "MariaDB 10.6 or later is needed"},
		"no automatic commits":     {change: parameters(map[string]string{"autocommit": "0"}), fault: "remove autocommit"},
		"a log of statements only": {settings: []string{"log-bin=log", "binlog-format=STATEMENT"}, fault: "binlog_format"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := dbtest.SharedMariaDB(t)
			if c.settings != nil {
				server = dbtest.StartMariaDB(t, dbtest.MariaDBOptions{Settings: c.settings})
			}
			url := server.Database(t)
			if err := mysqlstore.Migrate(t.Context(), connect(t, url, nil)); err != nil {
				t.Fatal(err)
			}
			db := connect(t, url, c.change)
			_, _, err := mysqlstore.New(db).Claim(t.Context(), &onceward.Record{Operation: "test.v1"}, 0)
			for step, err := range map[string]error{"claim": err, "check": mysqlstore.Check(t.Context(), db)} {
				if err == nil || !strings.Contains(err.Error(), c.fault) || errors.Is(err, onceward.ErrUnavailable) {
					t.Errorf("%s: got %v, want %q", step, err, c.fault)
				}
			}
		})
	}
}

// A replica refuses, also those who may write to it; once it has been made the primary it serves.
func TestReplicaIsRefused(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMariaDB(t, dbtest.MariaDBOptions{})
	url := server.Database(t)
	d := databaseAt(t, url)
	readOnly := func(on string) {
		if _, err := server.Exec("mysql", "SET GLOBAL read_only = "+on); err != nil {
			t.Fatal(err)
		}
	}
	root := strings.Replace(server.RootURL("x"), "/x", url[strings.LastIndex(url, "/"):], 1)
	for name, db := range map[string]*sql.DB{"an ordinary user": connect(t, url, nil), "the superuser": connect(t, root, nil)} {
		engine := newEngine(t, db)
		if _, err := engine.Do(t.Context(), hasty.For(alice, name, nil), writes(name)); err != nil {
			t.Fatal(err)
		}
		readOnly("ON")
		_, claim := engine.Do(t.Context(), hasty.For(alice, name+"'s second", nil), writes(name))
		_, replay := engine.Do(t.Context(), hasty.For(alice, name, nil), writes(name))
		_, find := engine.Find(t.Context(), hasty.For(alice, name, nil))
		for step, err := range map[string]error{"claim": claim, "replay": replay, "find": find, "check": mysqlstore.Check(t.Context(), db)} {
			if !errors.Is(err, onceward.ErrUnavailable) || !strings.Contains(err.Error(), "replica") {
				t.Errorf("%s, %s: %v", name, step, err)
			}
		}
		readOnly("OFF")
		_, err := engine.Do(t.Context(), hasty.For(alice, name+"'s second", nil), writes(name))
		wantError(t, err, nil)
		d.wantEffects(t, name, 2)
	}
}

// Neither key nor outcome shows in an error, not even in what the server adds to its own.
func TestErrorsTellNoValues(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec(t, "ALTER TABLE onceward_record ADD CHECK (outcome_kind <> 'test')")
	_, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, "s3cret", nil), writes("k"))
	wantError(t, err, onceward.ErrNotCommitted)
	var server *mysql.MySQLError
	if !errors.As(err, &server) || server.Number != 4025 {
		t.Fatalf("the error is %v, want the server's", err)
	}
	d.exec(t, "ALTER TABLE onceward_record MODIFY `key` VARBINARY(3) NOT NULL")
	_, long := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, "s3cret", nil), writes("k"))
	d.exec(t, "ALTER TABLE onceward_record ADD COLUMN more INT NOT NULL CHECK (more > 0)")
	for _, err := range []error{err, long} {
		if told := fmt.Sprintf("%+v", err); err == nil || strings.Contains(told, "s3cret") || strings.Contains(told, "733363726574") || strings.Contains(told, "646f6e65") {
			t.Errorf("the error tells a value: %s", told)
		}
	}
	d.wantEffects(t, "k", 0)
}

// The collision is made: it cannot be found.
func TestCollisionIsRefused(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.db)
	if _, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k")); err != nil {
		t.Fatal(err)
	}
	d.exec(t, "UPDATE onceward_record SET `key` = 'other'")
	_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	wantError(t, err, onceward.ErrCollision)
	tx, commit, _ := d.begin(t)
	_, err = onceward.Join(t.Context(), engine, tx, hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (int, error) { return 0, write(ctx, tx, "k") })
	wantError(t, err, onceward.ErrCollision)
	wantError(t, errors.Join(write(t.Context(), tx, "after"), commit()), nil)
	d.wantEffects(t, "k", 1)
	d.wantEffects(t, "after", 1)
}

// An outcome that does not fit into the server's packets rolls back.
func TestOutcomeLargerThanAPacket(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	large := onceward.Outcome{Kind: "test", Data: bytes.Repeat([]byte("x"), 9<<20)} // 16 MiB are the server's default
	engine := newEngine(t, d.db)
	_, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		return large, write(ctx, tx, "k")
	})
	wantError(t, err, onceward.ErrNotCommitted)
	d.wantEffects(t, "k", 0)
	large.Data = large.Data[:7<<20]
	_, err = engine.Do(t.Context(), hasty.For(alice, "k", nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		return large, write(ctx, tx, "k")
	})
	wantError(t, err, nil)
	result, err := engine.Do(t.Context(), hasty.For(alice, "k", nil), writes("k"))
	if err != nil || !result.Replayed || !bytes.Equal(result.Outcome.Data, large.Data) {
		t.Errorf("replayed %t, %d bytes, %v", result.Replayed, len(result.Outcome.Data), err)
	}
}

// A claim that was committed by itself, as by a work that ended its transaction and died, is in nobody's way: it is not
// found, it is taken, and it is swept.
func TestCommittedClaimIsNobodys(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	engine := newEngine(t, d.db)
	strict := &onceward.Operation{Name: "test.v1", RefuseExpired: time.Hour}
	for i, key := range []string{"taken", "joined", "swept"} {
		if _, err := engine.Do(t.Context(), hasty.For(alice, key, nil), writes(key)); err != nil {
			t.Fatal(err)
		}
		d.exec(t, "UPDATE onceward_record SET state = 'running', outcome = '', expires_at = UTC_TIMESTAMP(6), kept_until = UTC_TIMESTAMP(6) WHERE `key` = ?", key)
		if record, err := engine.Find(t.Context(), hasty.For(alice, key, nil)); record != nil || err != nil {
			t.Errorf("found %+v, %v", record, err)
		}
		switch i {
		case 0:
			_, err := engine.Do(t.Context(), strict.For(alice, key, nil), writes(key))
			wantError(t, err, nil)
			d.wantEffects(t, key, 2)
		case 1:
			tx, commit, _ := d.begin(t)
			_, err := onceward.Join(t.Context(), engine, tx, strict.For(alice, key, nil), func(ctx context.Context, tx sqlstore.Tx) (int, error) { return 0, write(ctx, tx, key) })
			wantError(t, errors.Join(err, commit()), nil)
			d.wantEffects(t, key, 2)
		default:
			if n, err := mysqlstore.New(d.db).Sweep(t.Context(), 0, 10); n != 1 || err != nil {
				t.Errorf("swept %d, %v; want 1", n, err)
			}
		}
	}
	d.wantRecords(t, 2)
}

// A sweep passes by what an attempt is replacing.
func TestSweepDoesNotWait(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	for _, key := range []string{"a", "b", "c"} {
		if _, err := newEngine(t, d.db).Do(t.Context(), hasty.For(alice, key, nil), writes(key)); err != nil {
			t.Fatal(err)
		}
	}
	d.exec(t, "UPDATE onceward_record SET kept_until = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR")
	tx, _, rollback := d.begin(t)
	if err := execute(t.Context(), tx, "SELECT 1 FROM onceward_record WHERE `key` = 'b' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	store := mysqlstore.New(d.db)
	swept := 0
	for range 3 {
		n, err := store.Sweep(t.Context(), time.Minute, 1)
		wantError(t, err, nil)
		swept += n
	}
	_ = rollback()
	if n, err := store.Sweep(t.Context(), 2*time.Hour, 10); n != 0 || err != nil {
		t.Errorf("within the grace %d were swept, %v", n, err)
	}
	if n, err := store.Sweep(t.Context(), time.Minute, 10); n+swept != 3 || n < 1 || err != nil {
		t.Errorf("swept %d and then %d, %v; want 3 in all, the locked one last", swept, n, err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []mysqlstore.Options{{IdleTimeout: -time.Second}, {IdleTimeout: time.Millisecond}, {ClaimTimeout: -1}} {
		if _, err := mysqlstore.NewWith(nil, o); err == nil {
			t.Errorf("%+v were taken", o)
		}
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mysql://u:p@h:3307/d":                           "u:p@tcp(h:3307)/d?interpolateParams=true&multiStatements=true",
		"mysql://u@h/d?multiStatements=false&timeout=5s": "u@tcp(h:3306)/d?interpolateParams=true&timeout=5s",
		"mysql://u:p%40%2F%3A@[::1]/":                    "u:p@/:@tcp([::1]:3306)/?interpolateParams=true&multiStatements=true",
		"mysql://h/d?wsrep_sync_wait=7":                  "tcp(h:3306)/d?interpolateParams=true&multiStatements=true&wsrep_sync_wait=7",
	} {
		config, err := mysqlstore.ParseURL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := config.FormatDSN(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "mysql://", "postgres://u:s3cret@h/d", "mysql://u:s3cret@h:x/d", "mysql://u:s3cret@/d", "mysql://u:s3cret@h/d?parseTime=perhaps", "u:s3cret@tcp(h)/d"} {
		if config, err := mysqlstore.ParseURL(text); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: got %+v, %v", text, config, err)
		}
	}
}

// Migrations run once however many processes start at the same moment.
func TestMigrateFromSeveralProcesses(t *testing.T) {
	t.Parallel()
	url := dbtest.MariaDBDatabase(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if err := mysqlstore.Migrate(t.Context(), connect(t, url, plain)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	db := connect(t, url, nil)
	steps, err := mysqlstore.Status(t.Context(), db)
	if err != nil || len(steps) != len(mysqlstore.Migrations()) {
		t.Fatalf("the status is %v, %v", steps, err)
	}
	for _, step := range steps {
		if age := time.Since(step.AppliedAt); age < -time.Minute || age > time.Minute {
			t.Errorf("number %d was applied at %v", step.Number, step.AppliedAt)
		}
	}
	if err := mysqlstore.Check(t.Context(), db); err != nil {
		t.Error(err)
	}
	if _, err := db.Exec("DELETE FROM onceward_migration"); err != nil {
		t.Fatal(err)
	}
	if err := mysqlstore.Migrate(t.Context(), db); err != nil {
		t.Errorf("a step that was applied and not noted cannot be run again: %v", err)
	}
	if _, err := db.Exec("INSERT INTO onceward_migration VALUES (999, 'later', UTC_TIMESTAMP())"); err != nil {
		t.Fatal(err)
	}
	if err := mysqlstore.Migrate(t.Context(), db); err == nil || !strings.Contains(err.Error(), "999") {
		t.Errorf("a database ahead of the program was taken: %v", err)
	}
}

// A user who may do no more than the store does starts on a complete schema, and the store serves him.
func TestUserWithFewRights(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMariaDB(t, dbtest.MariaDBOptions{})
	d := databaseAt(t, server.Database(t))
	name := d.url[strings.LastIndex(d.url, "/")+1:]
	if _, err := server.Exec("mysql", "GRANT SELECT, INSERT, UPDATE, DELETE ON "+name+".* TO few@'127.0.0.1' IDENTIFIED BY 's3cret'"); err != nil {
		t.Fatal(err)
	}
	db := connect(t, "mysql://few:s3cret@"+server.Addr()+"/"+name, nil)
	if err := mysqlstore.Migrate(t.Context(), db); err != nil {
		t.Error(err)
	}
	lives(t, d, db)
	d.exec(t, "DELETE FROM onceward_migration")
	if err := mysqlstore.Migrate(t.Context(), db); err == nil {
		t.Error("it has made a table without the right to")
	}
}

func TestStatusOfAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	steps, err := mysqlstore.Status(t.Context(), connect(t, dbtest.MariaDBDatabase(t), nil))
	if err != nil || len(steps) == 0 || !steps[0].AppliedAt.IsZero() || !strings.Contains(steps[0].SQL, "CREATE TABLE IF NOT EXISTS onceward_record") {
		t.Errorf("the status is %+v, %v", steps, err)
	}
}
