package shop

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
)

// Postgres keeps orders in PostgreSQL, beside pgxstore's records.
func Postgres(pool *pgxpool.Pool) Orders[pgx.Tx] { return postgres{pool} }

type postgres struct{ pool *pgxpool.Pool }

// Insert implements Orders. DO NOTHING, because an INSERT that fails aborts the whole transaction (F23). It waits for
// another transaction that is inserting the same value, and knows how that one ended.
func (postgres) Insert(ctx context.Context, tx pgx.Tx, o *Order) (bool, error) {
	tag, err := tx.Exec(ctx, `INSERT INTO orders (`+columns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT DO NOTHING`, o.values()...)
	return tag.RowsAffected() == 1, err
}

// ByRequest implements Orders: a statement of its own, which at READ COMMITTED sees the winner that Insert met. The row's
// lock keeps the order until its answer is recorded.
func (postgres) ByRequest(ctx context.Context, tx pgx.Tx, owner onceward.Scope, requestID string) (*Order, error) {
	return onePostgres(tx.QueryRow(ctx, `SELECT `+columns+` FROM orders
		WHERE tenant = $1 AND principal = $2 AND request_id = $3 FOR KEY SHARE`, owner.Tenant, owner.Principal, requestID))
}

// Get implements Orders.
func (p postgres) Get(ctx context.Context, tenant string, id uuid.UUID) (*Order, error) {
	return onePostgres(p.pool.QueryRow(ctx, `SELECT `+columns+` FROM orders WHERE tenant = $1 AND id = $2`, tenant, id.String()))
}

// List implements Orders.
func (p postgres) List(ctx context.Context, tenant string, before uuid.UUID, limit int) ([]*Order, error) {
	rows, err := p.pool.Query(ctx, `SELECT `+columns+` FROM orders
		WHERE tenant = $1 AND id < $2 ORDER BY id DESC LIMIT $3`, tenant, before.String(), limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Order, error) { return scanOrder(row) })
}

func onePostgres(row pgx.Row) (*Order, error) {
	order, err := scanOrder(row)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return order, err
}
