package sqlitestore

import (
	"context"
	"embed"
	"fmt"

	"github.com/onceward/onceward/internal/migration"
)

//go:embed migrations/*.sql
var files embed.FS

// Migration is one numbered step of the schema.
type Migration struct {
	Number int
	Name   string
	SQL    string
	// Applied tells, in Status, whether the file has it.
	Applied bool
}

// Migrations are the steps of the schema in their order, for printing. Migrate applies them.
func Migrations() ([]Migration, error) {
	read, err := migration.Read(files, "migrations")
	if err != nil {
		return nil, err
	}
	all := make([]Migration, len(read))
	for i, m := range read {
		all[i] = Migration{Number: m.Number, Name: m.Name, SQL: m.SQL}
	}
	return all, nil
}

const migrationsSQL = `CREATE TABLE IF NOT EXISTS main.onceward_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    applied_at INTEGER NOT NULL -- milliseconds since 1970
) STRICT`

// Migrate brings the file's schema up to date, in one transaction. Any number of processes may do so at once: SQLite's
// lock on the file puts them in a row.
func (s *Store) Migrate(ctx context.Context) error {
	all, err := migration.Read(files, "migrations")
	if err != nil {
		return err
	}
	err = s.transaction(ctx, func(w *writer) error {
		if _, err := w.ExecContext(ctx, migrationsSQL); err != nil {
			return err
		}
		applied, err := numbers(ctx, w.conn)
		if err != nil {
			return err
		}
		pending, err := migration.Pending(all, applied)
		if err != nil {
			return err
		}
		for _, m := range pending {
			if err := apply(ctx, w, m); err != nil {
				return fmt.Errorf("migration %03d_%s: %w", m.Number, m.Name, err)
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
	_, err := w.ExecContext(ctx, "INSERT INTO main.onceward_migrations (number, name, applied_at) VALUES (?, ?, "+now+")", m.Number, m.Name)
	return err
}

// Status is Migrations, each with whether the file has it.
func (s *Store) Status(ctx context.Context) ([]Migration, error) {
	all, err := Migrations()
	if err != nil {
		return nil, err
	}
	var exists bool
	err = s.records.QueryRowContext(ctx, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'onceward_migrations'").Scan(&exists)
	if err != nil || !exists {
		return all, explain(err)
	}
	applied, err := numbers(ctx, s.records)
	if err != nil {
		return nil, explain(err)
	}
	for _, number := range applied {
		if number >= 1 && number <= len(all) {
			all[number-1].Applied = true
		}
	}
	return all, nil
}

func numbers(ctx context.Context, db querier) (applied []int, _ error) {
	rows, err := db.QueryContext(ctx, "SELECT number FROM main.onceward_migrations ORDER BY number")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var number int
		if err := rows.Scan(&number); err != nil {
			return nil, err
		}
		applied = append(applied, number)
	}
	return applied, rows.Err()
}
