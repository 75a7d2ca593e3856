package shop

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// Kind of a database.
type Kind string

// The kinds.
const (
	KindPostgres Kind = "postgres"
	KindMySQL    Kind = "mysql" // MariaDB
	KindSQLite   Kind = "sqlite"
)

// driverForm are the names that libpq and the Go driver for MySQL take, and a server's bare word: no paths, most likely.
var driverForm = regexp.MustCompile(`(^|\s)(host|hostaddr|port|user|password|dbname|sslmode)=|@(tcp|unix)?\(|^(postgres|postgresql|mysql|mariadb|sqlite)$`)

// KindOf tells what a database's name stands for: a postgres:// or postgresql:// URL, a
// mysql:// URL, or the path of a SQLite file.
func KindOf(database string) (Kind, error) {
	scheme, _, isURL := strings.Cut(database, "://")
	switch {
	case database == "":
		return "", fmt.Errorf("the database has no name: give the path of a file, or a postgres:// or mysql:// URL")
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return KindPostgres, nil
	case isURL && scheme == "mysql":
		return KindMySQL, nil
	case driverForm.MatchString(database): // not repeated: it may hold a password
		return "", fmt.Errorf("the database is named as a driver would name it: give the path of a file, or a URL, postgres://user:password@host:port/name or mysql://user:password@host:port/name")
	case isURL || strings.HasPrefix(database, "file:"):
		return "", fmt.Errorf("a database of the form %q is not known: give the path of a file, or a postgres:// or mysql:// URL", strings.TrimSuffix(scheme, ":")+":…")
	}
	return KindSQLite, nil
}

// Database is what the shop asks of one: the seam between the service and SQL. Statements are written once for all of
// them, with ? for a value. Insert, Exec and Row work in a transaction: an attempt's, or one of Transact.
type Database[Tx any] interface {
	// Insert adds a row. It reports false, and adds nothing, where a unique value is taken by a row that is committed; it
	// waits for another transaction that is inserting the same value, and knows how that one ended.
	Insert(ctx context.Context, tx Tx, table, columns string, values ...any) (added bool, err error)
	// Exec reports how many rows fitted its WHERE, changed by it or not.
	Exec(ctx context.Context, tx Tx, statement string, args ...any) (fitted int64, err error)
	// Row reads one row and locks it until tx has ended, by a statement of its own, so that it sees what Insert and Exec
	// have met. Its Scan returns sql.ErrNoRows where there is none.
	Row(ctx context.Context, tx Tx, query string, args ...any) Scanner
	// Read calls each for each row that is committed, outside of any transaction.
	Read(ctx context.Context, each func(Scanner) error, query string, args ...any) error
	// Transact runs work in a transaction without a record, a second and a third time where the database chose it as the
	// victim of a deadlock.
	Transact(ctx context.Context, work func(tx Tx) error) error
}

// Scanner is a row that is read, as pgx and database/sql have it.
type Scanner interface {
	Scan(into ...any) error
}

// triesMax bounds how often a transaction is tried whose locks met another's.
const triesMax = 3

// transact tries a transaction again where the database says that it would do so.
func transact(try func() error, again func(error) bool) (err error) {
	for range triesMax {
		if err = try(); err == nil || !again(err) {
			return err
		}
	}
	return err
}

// insertSQL is the statement of Insert, but for its word about a value that is taken.
func insertSQL(table, columns string, values int) string {
	return `INSERT INTO ` + table + ` (` + columns + `) VALUES (` + marks(values) + `)`
}

// marks are the places of so many values.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
