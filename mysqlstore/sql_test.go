package mysqlstore

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
)

// openConn is a connection to a database of its own, with the store's tables.
func openConn(t *testing.T) *conn {
	t.Helper()
	config, err := ParseURL(dbtest.MariaDBDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	if err := Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	c, err := New(db).acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.release)
	return c
}

// TestF30_TakingAsksAgain: two have read that a record's time is over. The one who comes later finds that it is not any more:
// the rule is in the statement that takes.
func TestF30_TakingAsksAgain(t *testing.T) {
	t.Parallel()
	c := openConn(t)
	first := &onceward.Record{ID: onceward.ID{1}, Operation: "test.v1", Attempt: onceward.Token{1}, Life: time.Hour}
	second := *first
	second.Attempt = onceward.Token{2}
	send := func(want int64, statements ...string) {
		t.Helper()
		rows, err := c.send(t.Context(), statements...)
		if err != nil || want >= 0 && rows != want {
			t.Fatalf("%d rows, %v; want %d", rows, err, want)
		}
	}
	save := func(want *onceward.Record) { send(-1, saveRecord(want, onceward.Outcome{}), checkSaved, commit) }
	attempt := func(want *onceward.Record) { send(-1, prepare(time.Minute), begin, insertClaim(want)) }
	expire := func() { send(1, "UPDATE "+table+" SET expires_at = expires_at - INTERVAL 1 HOUR") }
	attempt(first)
	save(first)
	expire()
	send(1, prepare(time.Minute), begin, takeRecord(&second)) // it has read an expired record; so has the first
	save(&second)
	send(0, takeRecord(first))
	expire()
	first.Keep = time.Minute // in the way for so long
	send(0, takeRecord(first))
	first.Keep = 0
	send(1, takeRecord(first))
}

// TestSavingIsChecked: where the claim is not there, the statements that save end before their COMMIT, whatever the SQL mode.
func TestSavingIsChecked(t *testing.T) {
	t.Parallel()
	c := openConn(t)
	want := &onceward.Record{ID: onceward.ID{1}, Operation: "test.v1", Attempt: onceward.Token{1}, Life: time.Hour}
	for _, mode := range []string{"''", "'TRADITIONAL'", "DEFAULT"} {
		if _, err := c.send(t.Context(), "SET sql_mode = "+mode, prepare(time.Minute), begin, insertClaim(want), "DELETE FROM "+table); err != nil {
			t.Fatal(err)
		}
		_, err := c.send(t.Context(), saveRecord(want, onceward.Outcome{}), checkSaved, commit)
		if !errors.Is(saveFailure(err), onceward.ErrTaken) {
			t.Errorf("in the SQL mode %s: %v", mode, err)
		}
		var within bool
		if err := c.QueryRowContext(t.Context(), "SELECT @@in_transaction").Scan(&within); err != nil || !within {
			t.Errorf("it was committed: %t, %v", !within, err)
		}
		if _, err := c.send(t.Context(), rollback, restore); err != nil {
			t.Fatal(err)
		}
	}
}
