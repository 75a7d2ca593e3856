package shop

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Postgres is a shop's database in PostgreSQL, beside pgxstore's records.
func Postgres(pool *pgxpool.Pool) Database[pgx.Tx] { return postgres{pool} }

type postgres struct{ pool *pgxpool.Pool }

// readCommitted is said and not inherited: what Row reads must be newer than what the transaction has waited for.
var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}

// Insert implements Database. DO NOTHING, because an INSERT that fails aborts the whole transaction (F23).
func (postgres) Insert(ctx context.Context, tx pgx.Tx, table, columns string, values ...any) (bool, error) {
	tag, err := tx.Exec(ctx, numbered(insertSQL(table, columns, len(values))+` ON CONFLICT DO NOTHING`), values...)
	return tag.RowsAffected() == 1, err
}

// Exec implements Database.
func (postgres) Exec(ctx context.Context, tx pgx.Tx, statement string, args ...any) (int64, error) {
	tag, err := tx.Exec(ctx, numbered(statement), args...)
	return tag.RowsAffected(), err
}

// Row implements Database.
func (postgres) Row(ctx context.Context, tx pgx.Tx, query string, args ...any) Scanner {
	return postgresRow{tx.QueryRow(ctx, numbered(query+` FOR UPDATE`), args...)}
}

// Read implements Database.
func (p postgres) Read(ctx context.Context, each func(Scanner) error, query string, args ...any) error {
	rows, err := p.pool.Query(ctx, numbered(query), args...)
	if err != nil {
		return err
	}
	return readAll(rows, each)
}

// Transact implements Database.
func (p postgres) Transact(ctx context.Context, work func(tx pgx.Tx) error) error {
	return transact(func() error { return pgx.BeginTxFunc(ctx, p.pool, readCommitted, work) }, func(err error) bool {
		server := (*pgconn.PgError)(nil)
		return errors.As(err, &server) && server.Code == deadlockDetected
	})
}

const deadlockDetected = "40P01" // PostgreSQL's error where a transaction was chosen to end a deadlock

type postgresRow struct{ row pgx.Row }

// Scan implements Scanner.
func (r postgresRow) Scan(into ...any) error {
	err := r.row.Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return sql.ErrNoRows
	}
	return err
}

// numbered writes the places of values as PostgreSQL has them. No statement has a ? that is not one.
func numbered(statement string) string {
	var text strings.Builder
	for n, part := range strings.Split(statement, "?") {
		if n > 0 {
			text.WriteString("$" + strconv.Itoa(n))
		}
		text.WriteString(part)
	}
	return text.String()
}
