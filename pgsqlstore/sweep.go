package pgsqlstore

import (
	"context"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/postgres"
)

// Sweep implements onceward.Store.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	conn, err := s.begin(ctx, "sweep", postgres.Begin)
	if err != nil {
		return 0, err
	}
	defer leave(ctx, conn)
	result, err := conn.ExecContext(ctx, postgres.SweepRecords, grace.Microseconds(), int64(limit))
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		return 0, failure(ctx, "sweep", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// Backlog implements onceward.Store.
func (s *Store) Backlog(ctx context.Context, limit int) (left onceward.Backlog, _ error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	var microseconds int64
	if err := s.db.QueryRowContext(ctx, postgres.CountOver, int64(limit)).Scan(&left.Records, &microseconds); err != nil {
		return onceward.Backlog{}, failure(ctx, "backlog", err)
	}
	left.Oldest = time.Duration(microseconds) * time.Microsecond
	return left, nil
}
