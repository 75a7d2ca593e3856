package pgxstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/postgres"
)

// Sweep implements onceward.Store.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	deleted := 0
	// As an attempt does: a role's default may be another isolation, or read only.
	err := pgx.BeginTxFunc(ctx, s.pool, beginAttempt, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, postgres.SweepRecords, grace.Microseconds(), limit)
		deleted = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, failure("sweep", err)
	}
	return deleted, nil
}
