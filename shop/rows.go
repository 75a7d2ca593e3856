package shop

import (
	"context"
	"database/sql"

	"github.com/onceward/onceward/sqlstore"
)

// rows is the part of Database that SQLite and MariaDB have in common.
type rows struct{ db *sql.DB }

// Exec implements Database.
func (rows) Exec(ctx context.Context, tx sqlstore.Tx, statement string, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// Read implements Database.
func (r rows) Read(ctx context.Context, each func(Scanner) error, query string, args ...any) error {
	found, err := r.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return readAll(closingRows{found}, each)
}

// closingRows are rows whose Close says nothing that Err does not.
type closingRows struct{ *sql.Rows }

// Close closes the rows.
func (r closingRows) Close() { _ = r.Rows.Close() }

// readAll calls each for each row, and closes them.
func readAll(found interface {
	Scanner
	Next() bool
	Err() error
	Close()
}, each func(Scanner) error,
) error {
	defer found.Close()
	for found.Next() {
		if err := each(found); err != nil {
			return err
		}
	}
	return found.Err()
}

// inTransaction commits what work did, unless it fails.
func inTransaction(ctx context.Context, db *sql.DB, options *sql.TxOptions, work func(tx sqlstore.Tx) error) error {
	tx, err := db.BeginTx(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing is left to roll back after the commit
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}
