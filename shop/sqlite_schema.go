package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"github.com/onceward/onceward/internal/migration"
	"github.com/onceward/onceward/sqlitestore"
)

// openSchema opens an existing SQLite file on a connection of its own: sqlitestore's writer is for works.
func openSchema(path string) (*sql.DB, error) {
	source, err := sqlitestore.Source(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// migrateSQLite makes the shop's tables what this program needs. SQLite's lock puts processes in a row that start at once.
func migrateSQLite(ctx context.Context, path string) (err error) {
	db, err := openSchema(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left to roll back after the commit
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+migrationTable+` (
		number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))) STRICT`); err != nil {
		return err
	}
	applied, err := column[int](ctx, tx, `SELECT number FROM `+migrationTable)
	if err != nil {
		return err
	}
	pending, err := migration.Pending(migrations(KindSQLite), applied)
	if err != nil {
		return err
	}
	for _, step := range pending {
		if err := applySQLite(ctx, tx, step); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func applySQLite(ctx context.Context, tx *sql.Tx, step migration.Migration) error {
	if _, err := tx.ExecContext(ctx, step.SQL); err != nil {
		return fmt.Errorf("migration %03d_%s: %w", step.Number, step.Name, err)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO `+migrationTable+` (number, name) VALUES (?, ?)`, step.Number, step.Name)
	return err
}

// dropSQLite removes a demo's file, and what SQLite keeps beside it. A file that is anything else is refused.
func dropSQLite(ctx context.Context, path string) error {
	path, err := filepath.EvalSymlinks(path) // SQLite keeps its log beside the file itself
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := retireSQLite(ctx, path); err != nil {
		return fmt.Errorf("%s is not removed: %w", path, err)
	}
	for _, name := range []string{path + "-wal", path + "-shm", path + "-journal", path} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// retireSQLite sees to it that the file is a demo's and that nobody has it open.
func retireSQLite(ctx context.Context, path string) error {
	db, err := openSchema(path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	names, err := column[string](ctx, db, `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')`)
	if err != nil {
		return fmt.Errorf("it is not a demo's database: %w", err)
	}
	if !slices.Contains(names, migrationTable) {
		return errors.New("it is not a demo's database: it has no table " + migrationTable)
	}
	for _, name := range names {
		if !ownTable(name) {
			return fmt.Errorf("it holds %q, which is not the demo's", name)
		}
	}
	// Leaving the write-ahead log takes a lock that no other connection lets through.
	if _, err := db.ExecContext(ctx, `PRAGMA journal_mode = DELETE`); err != nil {
		return fmt.Errorf("another process has it open: %w", err)
	}
	return nil
}

func ownTable(name string) bool {
	return name == migrationTable || slices.Contains(tables, name) || strings.HasPrefix(name, "onceward_") || strings.HasPrefix(name, "sqlite_")
}

// column reads one column of all rows.
func column[T any](ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, query string,
) (values []T, _ error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var value T
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, rows.Err()
}
