package pgxstore

import (
	"context"
	"time"

	"github.com/onceward/onceward/internal/postgres"
)

// Sweep implements onceward.Store.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	tag, err := s.pool.Exec(ctx, postgres.SweepRecords, grace.Microseconds(), limit)
	if err != nil {
		return 0, failure("sweep", err)
	}
	return int(tag.RowsAffected()), nil
}
