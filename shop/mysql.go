package shop

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// duplicateEntry is MariaDB's error where a unique value is taken.
const duplicateEntry = 1062

// MySQL keeps orders in MariaDB, beside mysqlstore's records. Its reads outside of an attempt take connections of db.
func MySQL(db *sql.DB) Orders[sqlstore.Tx] { return mariadb{db} }

type mariadb struct{ db *sql.DB }

// Insert implements Orders. A statement that fails leaves the transaction as it was. It waits for another transaction that
// is inserting the same value, and knows how that one ended.
func (mariadb) Insert(ctx context.Context, tx sqlstore.Tx, o *Order) (bool, error) {
	_, err := tx.ExecContext(ctx, `INSERT INTO orders (`+columns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, o.values()...)
	if taken := (*mysql.MySQLError)(nil); errors.As(err, &taken) && taken.Number == duplicateEntry {
		return false, nil
	}
	return err == nil, err
}

// ByRequest implements Orders: a statement of its own, which at READ COMMITTED sees the winner that Insert met. The row's
// lock keeps the order until its answer is recorded.
func (mariadb) ByRequest(ctx context.Context, tx sqlstore.Tx, owner onceward.Scope, requestID string) (*Order, error) {
	return oneRow(tx.QueryRowContext(ctx, `SELECT `+columns+` FROM orders
		WHERE tenant = ? AND principal = ? AND request_id = ? LOCK IN SHARE MODE`, owner.Tenant, owner.Principal, requestID))
}

// Get implements Orders.
func (m mariadb) Get(ctx context.Context, tenant string, id uuid.UUID) (*Order, error) {
	return oneRow(m.db.QueryRowContext(ctx, getOrder, tenant, id.String()))
}

// List implements Orders.
func (m mariadb) List(ctx context.Context, tenant string, before uuid.UUID, limit int) ([]*Order, error) {
	return listRows(ctx, m.db, tenant, before, limit)
}
