package pgsqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/migration"
	"github.com/onceward/onceward/internal/postgres"
)

// Migration is a numbered step of the schema.
type Migration struct {
	Number    int
	Name      string
	SQL       string
	AppliedAt time.Time // zero: not applied, or not asked for
}

// Migrations returns all steps as plain SQL, to be read or to be run by a tool of one's own; they are pgxstore's. Each
// notes itself in the table onceward_migration, where Status and Migrate find it.
func Migrations() []Migration {
	all := postgres.Migrations()
	steps := make([]Migration, len(all))
	for i, m := range all {
		steps[i] = Migration{Number: m.Number, Name: m.Name, SQL: postgres.Whole(m)}
	}
	return steps
}

// Migrate applies the steps that the database lacks, each in a transaction of its own. Several processes may call it at
// once: they take turns. It is an error if the database is ahead of this program. Where nothing is lacking, the role needs
// the right to read the table onceward_migration and no other.
func Migrate(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("%w: migrate: %w", onceward.ErrUnavailable, scrub(err))
	}
	defer leave(ctx, conn)
	for {
		done, err := migrateOne(ctx, conn)
		if err != nil {
			return fmt.Errorf("pgsqlstore: migrate: %w", scrub(err))
		}
		if done {
			return nil
		}
	}
}

// migrateOne applies the first step that is lacking and reports whether there was none.
func migrateOne(ctx context.Context, conn *sql.Conn) (done bool, _ error) {
	if _, err := conn.ExecContext(ctx, postgres.Begin); err != nil {
		return false, err
	}
	if _, err := conn.ExecContext(ctx, postgres.LockMigrations, int64(postgres.MigrateLock)); err != nil {
		return false, err
	}
	if _, err := conn.ExecContext(ctx, postgres.CreateMigrations); err != nil {
		return false, err
	}
	applied, err := appliedAt(ctx, conn)
	if err != nil {
		return false, err
	}
	pending, err := migration.Pending(postgres.Migrations(), slices.Collect(maps.Keys(applied)))
	if err != nil {
		return false, err
	}
	if done = len(pending) == 0; !done {
		err = apply(ctx, conn, pending[0])
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	return done, err
}

// apply runs a step's statements. Without arguments the drivers send them as one text.
func apply(ctx context.Context, conn *sql.Conn, m migration.Migration) error {
	if _, err := conn.ExecContext(ctx, m.SQL); err != nil {
		return fmt.Errorf("number %d (%s): %w", m.Number, m.Name, err)
	}
	_, err := conn.ExecContext(ctx, postgres.InsertMigration, m.Number, m.Name)
	return err
}

// Status returns all steps, and of those that have been applied the time. It changes nothing.
func Status(ctx context.Context, db *sql.DB) ([]Migration, error) {
	steps := Migrations()
	applied, err := appliedAt(ctx, db)
	if sqlState(err) == postgres.UndefinedTable {
		return steps, nil // nothing has been applied yet
	}
	if err != nil {
		return nil, failure(ctx, "status", err)
	}
	for i := range steps {
		steps[i].AppliedAt = applied[steps[i].Number]
	}
	return steps, nil
}

func appliedAt(ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
},
) (map[int]time.Time, error) {
	rows, err := db.QueryContext(ctx, "SELECT number, applied_at FROM onceward_migration")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	applied := map[int]time.Time{}
	for rows.Next() {
		var number int
		var at time.Time
		if err := rows.Scan(&number, &at); err != nil {
			return nil, err
		}
		applied[number] = at
	}
	return applied, rows.Err()
}
