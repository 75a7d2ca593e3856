package shop

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// SQLite keeps orders in an SQLite file, beside sqlitestore's records. Reader is the store's, for reads outside of an
// attempt.
func SQLite(reader *sql.DB) Orders[sqlstore.Tx] { return sqlite{reader} }

type sqlite struct{ reader *sql.DB }

// Insert implements Orders. There is one writer, so that nothing is ever inserted at the same moment.
func (sqlite) Insert(ctx context.Context, tx sqlstore.Tx, o *Order) (bool, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO orders (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, o.values()...)
	if err != nil {
		return false, err
	}
	added, err := result.RowsAffected()
	return added == 1, err
}

// ByRequest implements Orders.
func (sqlite) ByRequest(ctx context.Context, tx sqlstore.Tx, owner onceward.Scope, requestID string) (*Order, error) {
	return oneRow(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM orders
		WHERE tenant = ? AND principal = ? AND request_id = ?`, owner.Tenant, owner.Principal, requestID))
}

// Get implements Orders.
func (s sqlite) Get(ctx context.Context, tenant string, id uuid.UUID) (*Order, error) {
	return oneRow(s.reader.QueryRowContext(ctx, getOrder, tenant, id.String()))
}

// List implements Orders.
func (s sqlite) List(ctx context.Context, tenant string, before uuid.UUID, limit int) ([]*Order, error) {
	return listRows(ctx, s.reader, tenant, before, limit)
}
