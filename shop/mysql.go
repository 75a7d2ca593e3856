package shop

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward/sqlstore"
)

// MariaDB's errors that are not failures.
const (
	duplicateEntry = 1062 // a unique value is taken
	deadlock       = 1213 // the transaction was chosen to end a deadlock
)

// MySQL is a shop's database in MariaDB, beside mysqlstore's records. Db's connections report the rows that an UPDATE
// found, not those that it changed (clientFoundRows).
func MySQL(db *sql.DB) Database[sqlstore.Tx] { return mariadb{rows{db}} }

type mariadb struct{ rows }

// Insert implements Database. A statement that fails leaves the transaction as it was.
func (mariadb) Insert(ctx context.Context, tx sqlstore.Tx, table, columns string, values ...any) (bool, error) {
	_, err := tx.ExecContext(ctx, insertSQL(table, columns, len(values)), values...)
	if isMariaDB(err, duplicateEntry) {
		return false, nil
	}
	return err == nil, err
}

// Row implements Database.
func (mariadb) Row(ctx context.Context, tx sqlstore.Tx, query string, args ...any) Scanner {
	return tx.QueryRowContext(ctx, query+` FOR UPDATE`, args...)
}

// Transact implements Database. The isolation is said and not inherited.
func (m mariadb) Transact(ctx context.Context, work func(tx sqlstore.Tx) error) error {
	return transact(func() error {
		return inTransaction(ctx, m.db, &sql.TxOptions{Isolation: sql.LevelReadCommitted}, work)
	}, func(err error) bool { return isMariaDB(err, deadlock) })
}

func isMariaDB(err error, number uint16) bool {
	server := (*mysql.MySQLError)(nil)
	return errors.As(err, &server) && server.Number == number
}
