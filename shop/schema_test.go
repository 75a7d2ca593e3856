package shop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward/internal/dbtest"
)

func onPostgres(t *testing.T) *database {
	t.Helper()
	return look(t, KindPostgres, dbtest.Database(t))
}

// onServers runs a test on a PostgreSQL and on a MariaDB database of its own.
func onServers(t *testing.T, test func(t *testing.T, db *database)) {
	t.Parallel()
	for name, db := range map[string]func() *database{
		"postgres": func() *database { return onPostgres(t) },
		"mysql":    func() *database { return look(t, KindMySQL, dbtest.MariaDBDatabase(t)) },
	} {
		t.Run(name, func(t *testing.T) { test(t, db()) })
	}
}

// A process died between a step of the migrations and its mark: in MariaDB the step stands. The next process goes on from there.
func TestMigrationThatWasBegunIsFinished(t *testing.T) {
	t.Parallel()
	db := look(t, KindMySQL, dbtest.MariaDBDatabase(t))
	db.start().end()
	if db.exec("UPDATE "+migrationTable+" SET applied_at = NULL") == 0 {
		t.Fatal("there is no migration")
	}
	db.start().post("/orders", alice, "k", book).want(t, 201, "")
}

// tableNames are the tables of the database.
func (d *database) tableNames() []string {
	query := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`
	switch d.kind {
	case KindPostgres:
		query = `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
	case KindMySQL:
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()`
	}
	names := must(column[string](d.t.Context(), d.db, query))(d.t)
	slices.Sort(names)
	return names
}

// TestTablesAreThoseOfTheMigrations: --fresh drops what the list says, so it must say all.
func TestTablesAreThoseOfTheMigrations(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		db.start()
		want := append(slices.Clone(tables), migrationTable)
		slices.Sort(want)
		got := slices.DeleteFunc(db.tableNames(), func(name string) bool { return strings.HasPrefix(name, "onceward_") })
		if !slices.Equal(got, want) {
			t.Errorf("the migrations make %v, the list says %v", got, want)
		}
	})
}

func TestSeveralProcessesMayStartAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		shops := make([]*Shop, 4)
		var all sync.WaitGroup
		for i := range shops {
			all.Go(func() {
				var err error
				if shops[i], err = Open(t.Context(), db.name, Options{Callers: DemoCallers()}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, shop := range shops {
			if shop != nil {
				_ = shop.Close()
			}
		}
		if n := db.count(migrationTable); n != len(migrations(db.kind)) {
			t.Errorf("%d migrations applied", n)
		}
	})
}

func TestDropRemovesTheDemoAndNothingElse(t *testing.T) {
	onServers(t, dropRemovesTheDemoAndNothingElse)
}

func dropRemovesTheDemoAndNothingElse(t *testing.T, db *database) {
	p := db.start()
	p.post("/orders", alice, "k", book).want(t, 201, "")
	p.end()
	db.exec("CREATE TABLE precious (x int)")
	db.exec("CREATE TABLE shop_other (x int)")
	// Another service's record, of the same operation's name.
	if db.kind == KindPostgres {
		db.exec("INSERT INTO " + recordTable + " SELECT (json_populate_record(r, '{\"id\":\"01a22ef1-8150-7085-9cc4-14cf5c2f7e79\",\"tenant\":\"other\"}')).* FROM " + recordTable + " r")
	} else {
		db.exec("CREATE TABLE copied AS SELECT * FROM " + recordTable)
		db.exec("UPDATE copied SET id = UNHEX(MD5('other')), tenant = 'other'")
		db.exec("INSERT INTO " + recordTable + " SELECT * FROM copied")
		db.exec("DROP TABLE copied")
	}
	must(0, Drop(t.Context(), db.name))(t)
	want := []string{"onceward_migration", recordTable, "precious", "shop_other"}
	if got := db.tableNames(); !slices.Equal(got, want) {
		t.Errorf("the database has %v, want %v", got, want)
	}
	if n := db.count(recordTable); n != 1 {
		t.Errorf("%d records, want the other service's", n)
	}
	p = db.start()
	if got := p.get("/orders", alice); got.body != `{"orders":[],"next":null}`+"\n" {
		t.Errorf("after it there is %s", got.body)
	}
	again := p.post("/orders", alice, "k", book)
	again.want(t, 201, "")
	if again.header.Get("Idempotent-Replayed") != "" {
		t.Error("the old record was replayed")
	}
}

func TestDropLeavesOrdersThatAreNotTheShops(t *testing.T) {
	onServers(t, dropLeavesOrdersThatAreNotTheShops)
}

func dropLeavesOrdersThatAreNotTheShops(t *testing.T, db *database) {
	db.exec("CREATE TABLE orders (precious int)")
	must(0, Drop(t.Context(), db.name))(t)
	if got := db.tableNames(); !slices.Equal(got, []string{"orders"}) {
		t.Errorf("the database has %v", got)
	}
	if _, err := Open(t.Context(), db.name, Options{Callers: DemoCallers()}); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("opening it says %v", err)
	}
}

// What is somebody else's is not begun with.
func TestOpenLeavesNothingInADatabaseThatIsNotTheShops(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		if db.kind == KindMySQL {
			t.Skip("MariaDB commits each CREATE by itself")
		}
		db.exec("CREATE TABLE orders (precious int)")
		if _, err := Open(t.Context(), db.name, Options{Callers: DemoCallers()}); err == nil {
			t.Error("another's table is taken for the shop's")
		}
		if got := db.tableNames(); !slices.Equal(got, []string{"orders"}) {
			t.Errorf("the database has %v", got)
		}
	})
}

func TestDropRemovesADemosFile(t *testing.T) {
	t.Parallel()
	db := look(t, KindSQLite, filepath.Join(t.TempDir(), "demo ?#%.db"))
	must(0, Drop(t.Context(), db.name))(t) // nothing there, nothing to do
	p := db.start()
	p.post("/orders", alice, "k", book).want(t, 201, "")
	if err := Drop(t.Context(), db.name); err == nil || !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("while it is in use: %v", err)
	}
	p.post("/orders", alice, "k2", book).want(t, 201, "") // and it still is
	p.end()
	must(0, Drop(t.Context(), db.name))(t)
	if left := must(os.ReadDir(filepath.Dir(db.name)))(t); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestDropRefusesAnyOtherFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make  func(t *testing.T, path string)
		fault string
	}{
		"text":      {func(t *testing.T, path string) { must(0, os.WriteFile(path, []byte("dear diary\n"), 0o600))(t) }, "not a demo's database"},
		"empty":     {func(t *testing.T, path string) { must(0, os.WriteFile(path, nil, 0o600))(t) }, "not a demo's database"},
		"directory": {func(t *testing.T, path string) { must(0, os.Mkdir(path, 0o700))(t) }, "not a demo's database"},
		"another application": {func(t *testing.T, path string) {
			look(t, KindSQLite, path).exec("CREATE TABLE orders (x)")
		}, "no table shop_migration"},
		"shared with another application": {func(t *testing.T, path string) {
			db := look(t, KindSQLite, path)
			db.start().end()
			db.exec("CREATE TABLE precious (x)")
			_ = db.db.Close()
		}, `"precious"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			test.make(t, path)
			before := must(os.Stat(path))(t).Size()
			if err := Drop(t.Context(), path); err == nil || !strings.Contains(err.Error(), test.fault) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %q", err, test.fault)
			}
			if after := must(os.Stat(path))(t).Size(); after != before {
				t.Errorf("the file had %d bytes and has %d", before, after)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for database, want := range map[string]Kind{
		"postgres://u@h/d": KindPostgres, "postgresql://": KindPostgres, "./x.db": KindSQLite, "/a/b c.db": KindSQLite,
		"mysql://u@h/d": KindMySQL, "": "", "mariadb://h/d": "", "sqlite://x": "", "file:x.db": "",
		"host=127.0.0.1 user=x password=s3cret": "", "user=x": "", "root:s3cret@tcp(127.0.0.1:3306)/d": "", "root:s3cret@/d": KindSQLite,
		"u:s3cret@unix(/run/mysqld.sock)/d": "", "postgres": "", "mysql": "", "data/postgres": KindSQLite, "a=b.db": KindSQLite,
	} {
		if got, err := KindOf(database); got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: got %q, %v", database, got, err)
		}
	}
}
