package dbtest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// mariaDBOrder is a transaction for the command-line client, its COMMIT in a packet of its own.
const mariaDBOrder = "BEGIN NOT ATOMIC START TRANSACTION; INSERT INTO orders VALUES (1); END//COMMIT"

func mariaExec1(tb testing.TB, m *MariaDB, database, sql string) string {
	tb.Helper()
	return must[string](tb)(m.Exec(database, sql))
}

func TestMariaDBDatabaseIsOnesOwnAndDroppedWhoeverIsConnected(t *testing.T) {
	t.Parallel()
	server := SharedMariaDB(t)
	var names sync.Map
	ended := make(chan error, 1)
	if !t.Run("tests", func(t *testing.T) {
		for i := range 4 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				name := databaseOf(t, MariaDBDatabase(t))
				names.Store(name, true)
				mariaExec1(t, server, name, "CREATE TABLE only_here (n int)") // fails in a database that two tests share
				if i > 0 {
					return
				}
				go func() {
					_, err := server.Exec(name, "BEGIN NOT ATOMIC START TRANSACTION; INSERT INTO only_here VALUES (1); DO SLEEP(600); END")
					ended <- err
				}()
				sleeping := "SELECT count(*) FROM information_schema.processlist WHERE state = 'User sleep' AND db = '" + name + "'"
				for deadline := time.Now().Add(queryWithin); mariaExec1(t, server, "mysql", sleeping) == "0"; <-time.After(pollEvery) {
					if time.Now().After(deadline) {
						t.Fatal("nobody sleeps in a transaction")
					}
				}
			})
		}
	}) {
		return // perhaps nobody sleeps
	}
	if err := <-ended; err == nil {
		t.Error("the connection outlived its database")
	}
	names.Range(func(name, _ any) bool {
		if got := mariaExec1(t, server, "mysql", "SELECT count(*) FROM information_schema.schemata WHERE schema_name = '"+name.(string)+"'"); got != "0" {
			t.Errorf("%s is still there", name)
		}
		return true
	})
}

func TestMariaDBRunsUnprivilegedOnLoopback(t *testing.T) {
	t.Parallel()
	server := SharedMariaDB(t)
	if host := mariaExec1(t, server, "mysql", "SELECT @@bind_address"); host != "127.0.0.1" {
		t.Error("listens on", host)
	}
	if owner := server.account; os.Geteuid() == 0 && (owner == nil || owner.Uid == 0) {
		t.Error("runs as root")
	}
	if version := mariaExec1(t, server, "mysql", "SELECT version()"); !strings.Contains(version, "MariaDB") {
		t.Error("it is", version)
	}
}

func TestMariaDBCommittedRowsSurviveKillAndStop(t *testing.T) {
	t.Parallel()
	server := StartMariaDB(t, MariaDBOptions{Durable: true, Settings: []string{"max-connections=77"}})
	if got := mariaExec1(t, server, "mysql", "SELECT @@innodb_flush_log_at_trx_commit, @@max_connections"); got != "1\t77" {
		t.Error("settings:", got)
	}
	before := server.Addr()
	mariaExec1(t, server, "mysql", "CREATE TABLE kept (n int) ENGINE = InnoDB")
	for _, end := range []func(){server.Kill, server.Stop, server.Kill} {
		mariaExec1(t, server, "mysql", "INSERT INTO kept VALUES (1)")
		end()
		end() // a second time does no harm
		if _, err := server.Exec("mysql", "SELECT 1"); err == nil {
			t.Fatal("answers after its end")
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if got := mariaExec1(t, server, "mysql", "SELECT count(*) FROM kept"); got != "3" || server.Addr() != before {
		t.Errorf("%s rows at %s, want 3 at %s", got, server.Addr(), before)
	}
}

func TestMariaDBPausedHangsUntilResumed(t *testing.T) {
	t.Parallel()
	server := StartMariaDB(t, MariaDBOptions{})
	server.Pause()
	answered := make(chan error, 1)
	go func() {
		_, err := server.Exec("mysql", "SELECT 1")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatal("answered while paused:", err)
	case <-time.After(100 * time.Millisecond):
	}
	server.Resume()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	server.Pause()
	server.Stop() // must not wait for a server that stands still
}

func TestMariaDBStartSaysWhatTheServerSaid(t *testing.T) {
	t.Parallel()
	_, err := NewMariaDB(MariaDBOptions{Settings: []string{"no-such-setting=1"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Fatal(err)
	}
}

// TestCutCommitOfMariaDB says what the moments mean for a transaction there: the same as on PostgreSQL.
func TestCutCommitOfMariaDB(t *testing.T) {
	t.Parallel()
	for moment, stored := range map[Moment]string{Before: "0", Within: "0", After: "1", Answered: "1", Late: "1", Blackhole: "0", Hang: "0"} {
		t.Run(fmt.Sprint(moment), func(t *testing.T) {
			t.Parallel()
			server, database := SharedMariaDB(t), databaseOf(t, MariaDBDatabase(t))
			proxy := NewProxy(t, server.Addr())
			through := &MariaDB{server: server.server, client: server.client, port: portOf(proxy)}
			mariaExec1(t, through, database, "CREATE TABLE orders (n int)")
			armed := proxy.Cut(Fault{On: "commit", Moment: moment, Delay: 10 * time.Millisecond})
			if _, err := through.Exec(database, mariaDBOrder); err == nil {
				t.Error("the client was told of success")
			}
			<-armed.Over()
			if got := mariaExec1(t, server, database, "SELECT count(*) FROM orders"); got != stored {
				t.Errorf("%s orders, want %s", got, stored)
			}
		})
	}
}
