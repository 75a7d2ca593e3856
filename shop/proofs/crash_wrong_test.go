package proofs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/oncetest"
	"github.com/onceward/onceward/pgxstore"
	"github.com/onceward/onceward/shop"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// site is what a handler that is built wrongly has to build with.
type site struct {
	once func(key string, work func(s session) error) (replayed bool, err error)
	done func(key string) bool        // whether there is a record
	own  func(statement string) error // in a transaction of its own, in the same database
	side func(statement string) error // the same, which may run beside a work: on SQLite in another file
}

const theEffect = "INSERT INTO effect (name) VALUES ('x')"

func nothing(session) error { return nil }

// found is the first point at which Crash finds what is wrong, on each database.
type found struct{ postgres, mariadb, sqlite string }

func (f found) on(kind shop.Kind) string {
	return map[shop.Kind]string{shop.KindPostgres: f.postgres, shop.KindMySQL: f.mariadb, shop.KindSQLite: f.sqlite}[kind]
}

// wrongs are ways in which services lose an effect or have it twice.
var wrongs = []struct {
	name    string
	handle  func(s site, key string) error
	found   found // none where the handler is right
	effects int   // that are there then
}{
	{"nothing but one transaction", func(s site, key string) error {
		_, err := s.once(key, func(tx session) error { return tx.exec(context.Background(), theEffect) })
		return err
	}, found{}, 1},
	{"the effect is committed before the record", func(s site, key string) error {
		if s.done(key) {
			return nil
		}
		err := s.own(theEffect)
		if err == nil {
			_, err = s.once(key, nothing)
		}
		return err
	}, found{"after INSERT INTO effect", "after INSERT INTO effect", "after commit 1, before the next"}, 2},
	{"the effect comes after the record", func(s site, key string) error {
		replayed, err := s.once(key, nothing)
		if err != nil || replayed {
			return err
		}
		return s.own(theEffect)
	}, found{"in SELECT, INSERT INTO onceward_record, COMMIT", "in UPDATE onceward_record, SET, COMMIT", "after commit 1, before the next"}, 0},
	{"the lock is a row of another transaction", func(s site, key string) error {
		if s.own("INSERT INTO singular (name) VALUES ('"+key+"')") != nil {
			return nil // it is there: a duplicate
		}
		return s.own(theEffect)
	}, found{"after INSERT INTO singular", "after INSERT INTO singular", "after commit 1, before the next"}, 0},
	{"the work has its effect outside the transaction", func(s site, key string) error {
		_, err := s.once(key, func(session) error { return s.side(theEffect) })
		return err
	}, found{"after INSERT INTO effect", "after INSERT INTO effect", "before commit 1"}, 2},
	{
		"nothing is recorded", func(s site, _ string) error { return s.own(theEffect) },
		found{"before INSERT INTO effect", "before INSERT INTO effect", "before commit 1"},
		2,
	},
}

// TestB11_WrongHandlersAreFound: Crash fails the test of a handler that is built wrongly, first at the point where that shows.
func TestB11_WrongHandlersAreFound(t *testing.T) {
	t.Parallel()
	for _, kind := range []shop.Kind{shop.KindPostgres, shop.KindMySQL, shop.KindSQLite} {
		for _, c := range wrongs {
			t.Run(fmt.Sprint(kind, " ", c.name), func(t *testing.T) {
				t.Parallel()
				heard := &recorder{TB: t}
				oncetest.Crash(heard, wrongPlan(t, kind, c.handle))
				want := c.found.on(kind)
				switch {
				case want == "" && len(heard.errors) > 0:
					t.Errorf("a right handler is said to be wrong: %q", heard.errors)
				case want != "" && len(heard.errors) == 0:
					t.Error("it is not found")
				case want != "" && !(strings.HasPrefix(heard.errors[0], "killed "+want+": ") && strings.Contains(heard.errors[0], fmt.Sprintf(" %d effects", c.effects))):
					t.Errorf("it is found first as %q, want %d effects at %q", heard.errors[0], c.effects, want)
				}
			})
		}
	}
}

// TestB11_LogThatBeginsAnew: a commit of many pages is killed at each of them, though SQLite checkpoints in between and writes its
// log from the beginning.
func TestB11_LogThatBeginsAnew(t *testing.T) {
	t.Parallel()
	const pages = 37
	heard := &recorder{TB: t}
	oncetest.Crash(heard, wrongPlan(t, shop.KindSQLite, func(s site, key string) error {
		_, err := s.once(key, func(tx session) error {
			return tx.exec(context.Background(), "INSERT INTO effect (name) VALUES ('"+strings.Repeat("x", pages*4096)+"')")
		})
		return err
	}))
	if last := fmt.Sprintf("in commit 1, after %d of its pages", pages); len(heard.errors) > 0 || !strings.Contains(heard.logged, last) {
		t.Errorf("the run ends early, before %q, or with errors: %q\n%s", last, heard.errors, heard.logged)
	}
}

// recorder is a test that fails for itself only.
type recorder struct {
	testing.TB
	errors []string
	logged string
}

func (r *recorder) Logf(format string, args ...any) {
	r.logged += fmt.Sprintf(format, args...)
	r.TB.Logf(format, args...)
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// sites are how a site is opened on each database, and where the test looks at it.
var sites = map[shop.Kind]struct {
	database func(*testing.T) *database
	open     func(name string) (site, error)
}{
	shop.KindPostgres: {onPostgres, openSiteOnPostgres},
	shop.KindMySQL:    {onMariaDB, openSiteOnMariaDB},
	shop.KindSQLite:   {onSQLite, openSiteOnSQLite},
}

func wrongPlan(t *testing.T, kind shop.Kind, handle func(s site, key string) error) oncetest.Plan {
	var db *database
	return oncetest.Plan{
		Database: func() string { db = sites[kind].database(t); return db.name },
		Open: func(name string) (http.Handler, error) {
			s, err := sites[kind].open(name)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := handle(s, r.Header.Get("Idempotency-Key")); err != nil {
					http.Error(w, err.Error(), http.StatusInternalServerError)
				}
			}), err
		},
		Request: func(run oncetest.Run) *http.Request {
			return crashed{call: "POST /", headers: []string{"Idempotency-Key: {key}"}}.request(t, run)
		},
		Effects: func(name string) (int, error) {
			effects := db.number("SELECT count(*) FROM effect")
			if kind == shop.KindSQLite {
				effects += look(t, kind, beside(name)).number("SELECT count(*) FROM effect")
			}
			return effects, nil
		},
	}
}

func beside(name string) string { return name + ".side" }

func openSiteOnPostgres(name string) (site, error) {
	pool, err := pgxpool.New(context.Background(), name)
	if err == nil {
		err = pgxstore.Migrate(context.Background(), pool)
	}
	if err != nil {
		return site{}, err
	}
	own := func(statement string) error {
		_, err := pool.Exec(context.Background(), statement)
		return err
	}
	s, err := newSite(pgxstore.New(pool), func(tx pgx.Tx) session { return pgSession{tx} })
	s.own, s.side = own, own
	return s, errors.Join(err, tables(own))
}

func openSiteOnMariaDB(name string) (site, error) {
	config, err := mysqlstore.ParseURL(name)
	if err != nil {
		return site{}, err
	}
	db, err := sql.Open("mysql", config.FormatDSN())
	if err == nil {
		err = mysqlstore.Migrate(context.Background(), db)
	}
	if err != nil {
		return site{}, err
	}
	own := func(statement string) error {
		_, err := db.ExecContext(context.Background(), statement)
		return err
	}
	s, err := newSite(mysqlstore.New(db), func(tx sqlstore.Tx) session { return sqliteSession{tx} })
	s.own, s.side = own, own
	return s, errors.Join(err, tables(own))
}

func openSiteOnSQLite(name string) (site, error) {
	store, err := sqlitestore.Open(context.Background(), name, sqlitestore.Options{})
	if err == nil {
		err = store.Migrate(context.Background())
	}
	if err != nil {
		return site{}, err
	}
	s, err := newSite(store, func(tx sqlstore.Tx) session { return sqliteSession{tx} })
	source, sourceErr := sqlitestore.Source(name)
	s.own, s.side = onFile(source), onFile("file:"+beside(name))
	return s, errors.Join(err, sourceErr, tables(s.own), tables(s.side))
}

func onFile(source string) func(statement string) error {
	db, err := sql.Open("sqlite", source)
	return func(statement string) error {
		if err == nil {
			_, err := db.Exec(statement)
			return err
		}
		return err
	}
}

func tables(exec func(statement string) error) error {
	return errors.Join(exec("CREATE TABLE IF NOT EXISTS effect (name TEXT NOT NULL)"),
		exec("CREATE TABLE IF NOT EXISTS singular (name VARCHAR(100) NOT NULL UNIQUE)"))
}

// newSite is the part that all databases share.
func newSite[Tx any](store onceward.Store[Tx], of func(Tx) session) (site, error) {
	engine, err := onceward.New(store, onceward.Options{})
	operation := &onceward.Operation{Name: "wrong.v1", Wait: patience}
	named := func(key string) onceward.Command {
		return operation.For(onceward.Scope{Tenant: "t", Principal: "p"}, key, nil)
	}
	return site{
		once: func(key string, work func(s session) error) (bool, error) {
			result, err := engine.Do(context.Background(), named(key), func(_ context.Context, tx Tx) (onceward.Outcome, error) {
				return onceward.Outcome{Kind: "proof"}, work(of(tx))
			})
			return err == nil && result.Replayed, err
		},
		done: func(key string) bool {
			record, err := engine.Find(context.Background(), named(key))
			return err == nil && record != nil
		},
	}, err
}
