package shop

import (
	"context"
	"database/sql"
	"errors"

	"github.com/google/uuid"
)

// The reads that SQLite and MariaDB have in common.
const (
	getOrder   = `SELECT ` + columns + ` FROM orders WHERE tenant = ? AND id = ?`
	listOrders = `SELECT ` + columns + ` FROM orders WHERE tenant = ? AND id < ? ORDER BY id DESC LIMIT ?`
)

// oneRow is the order of a row, nil if there is none.
func oneRow(row *sql.Row) (*Order, error) {
	order, err := scanOrder(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return order, err
}

func listRows(ctx context.Context, db *sql.DB, tenant string, before uuid.UUID, limit int) (orders []*Order, _ error) {
	rows, err := db.QueryContext(ctx, listOrders, tenant, before.String(), limit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		order, err := scanOrder(rows)
		if err != nil {
			return nil, err
		}
		orders = append(orders, order)
	}
	return orders, rows.Err()
}
