package pgxstore

import (
	"context"
	"time"
)

// sweepRecords deletes what an attempt is not replacing at this moment. now() is one value for the statement, as the
// index needs it.
const sweepRecords = `DELETE FROM onceward_record WHERE id IN (
	SELECT id FROM onceward_record WHERE kept_until < now() - $1::bigint * interval '1 microsecond'
	ORDER BY kept_until LIMIT $2::bigint FOR UPDATE SKIP LOCKED)`

// Sweep implements onceward.Store.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, limit int) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	tag, err := s.pool.Exec(ctx, sweepRecords, grace.Microseconds(), limit)
	if err != nil {
		return 0, failure("sweep", err)
	}
	return int(tag.RowsAffected()), nil
}
