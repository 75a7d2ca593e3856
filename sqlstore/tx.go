// Package sqlstore is what the stores on database/sql share: the transaction that a work gets, the guard around it, and
// the columns of a record. It imports no driver.
package sqlstore

import (
	"context"
	"database/sql"
)

// Tx is a work's transaction: the interface that sqlc, GORM and ent accept. Whoever holds it cannot commit or roll back.
// *sql.Tx satisfies it, so that a transaction of the caller's own can be joined.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}
