package mysqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/migration"
)

//go:embed migrations/*.sql
var files embed.FS

const createMigrations = `CREATE TABLE IF NOT EXISTS onceward_migration (
    number     INT          NOT NULL PRIMARY KEY,
    name       VARCHAR(100) NOT NULL,
    applied_at DATETIME(6)  NOT NULL
) ENGINE = InnoDB`

const noteMigration = "INSERT IGNORE INTO onceward_migration (number, name, applied_at) VALUES (%d, %s, " + now + ")"

// The lock of whoever migrates this database. It is the server's own: processes that start at once at different nodes of a
// cluster do not see each other's, and need not, since a step may be run again.
const (
	migrateLock   = `SELECT COALESCE(GET_LOCK(CONCAT('onceward_migrate_', MD5(DATABASE())), ` + migrateWait + `), 0)`
	migrateUnlock = `DO RELEASE_LOCK(CONCAT('onceward_migrate_', MD5(DATABASE())))`
	migrateWait   = "60" // seconds
)

// Migration is a numbered step of the schema. It may be run again, since MariaDB commits each CREATE by itself.
type Migration struct {
	Number    int
	Name      string
	SQL       string
	AppliedAt time.Time // zero: not applied, or not asked for
}

// Migrations returns all steps as plain SQL, to be read or to be run by a tool of one's own. Each notes itself in the table
// onceward_migration, where Status and Migrate find it.
func Migrations() []Migration {
	all := known()
	steps := make([]Migration, len(all))
	for i, m := range all {
		steps[i] = Migration{Number: m.Number, Name: m.Name, SQL: m.Whole(createMigrations, noteMigration)}
	}
	return steps
}

func known() []migration.Migration {
	all, err := migration.Read(files, "migrations")
	if err != nil {
		panic(err) // they are embedded: the tests have read them
	}
	return all
}

// Migrate applies the steps that the database lacks. Several processes may call it at once: they take turns. It is an error
// if the database is ahead of this program. Where nothing is lacking, the user needs the right to read the table
// onceward_migration and no other.
func Migrate(ctx context.Context, db *sql.DB) error {
	if err := migrateAll(ctx, db); err != nil {
		return fmt.Errorf("mysqlstore: migrate: %w", scrub(err))
	}
	return nil
}

func migrateAll(ctx context.Context, db *sql.DB) (err error) {
	conn, err := db.Conn(ctx) // the lock is a connection's
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var locked bool
	if err := conn.QueryRowContext(ctx, migrateLock).Scan(&locked); err != nil {
		return err
	}
	if !locked {
		return fmt.Errorf("%w: another process has been migrating for %s s", onceward.ErrUnavailable, migrateWait)
	}
	defer func() {
		_, unlock := conn.ExecContext(context.WithoutCancel(ctx), migrateUnlock)
		err = errors.Join(err, unlock)
	}()
	applied, err := appliedAt(ctx, conn)
	if numberOf(err) == codeNoTable {
		_, err = conn.ExecContext(ctx, createMigrations)
	}
	if err != nil {
		return err
	}
	numbers := make([]int, 0, len(applied))
	for number := range applied {
		numbers = append(numbers, number)
	}
	pending, err := migration.Pending(known(), numbers)
	if err != nil {
		return err
	}
	for _, m := range pending {
		if err := apply(ctx, conn, m); err != nil {
			return fmt.Errorf("number %d (%s): %w", m.Number, m.Name, scrub(err))
		}
	}
	return nil
}

func apply(ctx context.Context, conn *sql.Conn, m migration.Migration) error {
	if _, err := conn.ExecContext(ctx, m.SQL); err != nil {
		return err
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf(noteMigration, m.Number, "'"+m.Name+"'"))
	return err
}

// Status returns all steps, and of those that have been applied the time. It changes nothing.
func Status(ctx context.Context, db *sql.DB) ([]Migration, error) {
	steps := Migrations()
	applied, err := appliedAt(ctx, db)
	if numberOf(err) == codeNoTable {
		return steps, nil // nothing has been applied yet
	}
	if err != nil {
		return nil, failure("status", err)
	}
	for i := range steps {
		steps[i].AppliedAt = applied[steps[i].Number]
	}
	return steps, nil
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// appliedAt reads the times as numbers, which no parameter of the data source name changes.
func appliedAt(ctx context.Context, db querier) (map[int]time.Time, error) {
	rows, err := db.QueryContext(ctx, "SELECT number, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', applied_at) FROM onceward_migration")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	applied := map[int]time.Time{}
	for rows.Next() {
		var number int
		var at int64
		if err := rows.Scan(&number, &at); err != nil {
			return nil, err
		}
		applied[number] = time.UnixMicro(at).UTC()
	}
	return applied, rows.Err()
}

// Check says what keeps a store on db from working: no server, one that is too old or no MariaDB, a replica, statement-based
// replication, a schema that is missing or old. Call it at the start of a program; the store itself reports the same when it
// meets it.
func Check(ctx context.Context, db *sql.DB) error {
	c, err := New(db).acquire(ctx)
	if err != nil {
		return err
	}
	defer c.release()
	var readOnly bool
	var format string
	if err := c.QueryRowContext(ctx, "SELECT @@global.read_only, @@binlog_format").Scan(&readOnly, &format); err != nil {
		return failure("check", err)
	}
	switch {
	case readOnly:
		return errReadOnly
	case strings.EqualFold(format, "STATEMENT"):
		return fmt.Errorf("%w: its binlog_format must be MIXED or ROW", errUnfit)
	}
	var nothing onceward.Record
	if _, err := c.read(ctx, &nothing, selectRecord(nothing.ID)); err != nil && !errors.Is(err, onceward.ErrCollision) {
		return failure("check", err)
	}
	return nil
}
