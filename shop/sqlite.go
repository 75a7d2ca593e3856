package shop

import (
	"context"
	"database/sql"

	"github.com/onceward/onceward/sqlstore"
)

// SQLite is a shop's database in an SQLite file, beside sqlitestore's records. Reader is the store's. Writer is a
// connection of the shop's own (sqlitestore.Source) for what it writes without a record.
func SQLite(reader, writer *sql.DB) Database[sqlstore.Tx] { return sqlite{rows{reader}, writer} }

type sqlite struct {
	rows
	writer *sql.DB
}

// Insert implements Database.
func (s sqlite) Insert(ctx context.Context, tx sqlstore.Tx, table, columns string, values ...any) (bool, error) {
	added, err := s.Exec(ctx, tx, insertSQL(table, columns, len(values))+` ON CONFLICT DO NOTHING`, values...)
	return added == 1, err
}

// Row implements Database. Whoever writes has the whole file.
func (sqlite) Row(ctx context.Context, tx sqlstore.Tx, query string, args ...any) Scanner {
	return tx.QueryRowContext(ctx, query, args...)
}

// Transact implements Database. There is one writer, so that no two wait for each other.
func (s sqlite) Transact(ctx context.Context, work func(tx sqlstore.Tx) error) error {
	return inTransaction(ctx, s.writer, nil, work)
}
