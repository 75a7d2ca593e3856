package pgxstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
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

// Backlog implements onceward.Store.
func (s *Store) Backlog(ctx context.Context, limit int) (left onceward.Backlog, _ error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	var microseconds int64
	if err := s.pool.QueryRow(ctx, postgres.CountOver, limit).Scan(&left.Records, &microseconds); err != nil {
		return onceward.Backlog{}, failure("backlog", err)
	}
	left.Oldest = time.Duration(microseconds) * time.Microsecond
	return left, nil
}
