package sqlitestore

import (
	"context"
	"time"

	"github.com/onceward/onceward"
)

// sweepBatchMax bounds the records that are deleted in one turn at the writer: some milliseconds.
const sweepBatchMax = 250

const sweepSQL = "DELETE FROM main." + table + " WHERE id IN " +
	"(SELECT id FROM main." + table + " WHERE kept_until + ?1 < " + now + " LIMIT ?2)"

// Sweep implements onceward.Store. It deletes in small batches, each in a turn of its own at the writer, for which it
// waits as every attempt does.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, limit int) (total int, _ error) {
	for total < limit {
		batch := min(limit-total, sweepBatchMax)
		deleted, err := s.sweep(ctx, grace, batch)
		total += deleted
		if err != nil || deleted < batch {
			return total, err
		}
	}
	return total, nil
}

func (s *Store) sweep(ctx context.Context, grace time.Duration, batch int) (deleted int, _ error) {
	err := s.transaction(ctx, func(w *writer) error {
		result, err := w.ExecContext(ctx, sweepSQL, milliseconds(grace), batch)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		deleted = int(n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

const countSQL = "SELECT count(*), COALESCE(" + now + " - min(kept_until), 0) FROM " +
	"(SELECT kept_until FROM main." + table + " WHERE kept_until < " + now + " ORDER BY kept_until LIMIT ?1)"

// Backlog implements onceward.Store.
func (s *Store) Backlog(ctx context.Context, limit int) (left onceward.Backlog, _ error) {
	var over int64
	if err := s.records.QueryRowContext(ctx, countSQL, limit).Scan(&left.Records, &over); err != nil {
		return onceward.Backlog{}, explain(err)
	}
	left.Oldest = time.Duration(over) * time.Millisecond
	return left, nil
}
