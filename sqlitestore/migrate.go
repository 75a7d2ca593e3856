package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/migration"
)

//go:embed migrations/*.sql
var files embed.FS

// Migration is a numbered step of the schema.
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
		steps[i] = Migration{Number: m.Number, Name: m.Name, SQL: m.Whole(migrationsSQL, noteSQL)}
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

const migrationsSQL = `CREATE TABLE IF NOT EXISTS main.onceward_migration (
    number     INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    applied_at INTEGER NOT NULL -- milliseconds since 1970
) STRICT`

const noteSQL = "INSERT INTO main.onceward_migration (number, name, applied_at) VALUES (%d, %s, " + now + ")"

// Migrate applies the steps that the file lacks, in one transaction. Several processes may call it at once: SQLite's
// lock on the file puts them in a row. It is an error if the file is ahead of this program.
func (s *Store) Migrate(ctx context.Context) error {
	err := s.transaction(ctx, func(w *writer) error {
		if _, err := w.ExecContext(ctx, migrationsSQL); err != nil {
			return err
		}
		applied, err := appliedAt(ctx, w.conn)
		if err != nil {
			return err
		}
		pending, err := migration.Pending(known(), slices.Collect(maps.Keys(applied)))
		if err != nil {
			return err
		}
		for _, m := range pending {
			if err := apply(ctx, w, m); err != nil {
				return fmt.Errorf("number %d (%s): %w", m.Number, m.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sqlitestore: migrate: %w", err)
	}
	return nil
}

func apply(ctx context.Context, w *writer, m migration.Migration) error {
	if _, err := w.conn.ExecContext(ctx, m.SQL); err != nil {
		return err
	}
	_, err := w.ExecContext(ctx, fmt.Sprintf(noteSQL, m.Number, "'"+m.Name+"'"))
	return err
}

// Status returns all steps, and of those that have been applied the time. It changes nothing.
func (s *Store) Status(ctx context.Context) ([]Migration, error) {
	steps := Migrations()
	var tables int
	err := s.records.QueryRowContext(ctx, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'onceward_migration'").Scan(&tables)
	if err != nil || tables == 0 {
		return steps, explain(err)
	}
	applied, err := appliedAt(ctx, s.records)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: status: %w", explain(err))
	}
	for i := range steps {
		steps[i].AppliedAt = applied[steps[i].Number]
	}
	return steps, nil
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func appliedAt(ctx context.Context, db querier) (map[int]time.Time, error) {
	rows, err := db.QueryContext(ctx, "SELECT number, applied_at FROM main.onceward_migration")
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
		applied[number] = time.UnixMilli(at).UTC()
	}
	return applied, rows.Err()
}
