package mysqlstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// sweepBatchMax bounds the records that are deleted in one transaction.
const sweepBatchMax = 500

// Sweep implements onceward.Store. It passes by what an attempt is replacing, and deletes in small transactions.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, limit int) (total int, _ error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	c, err := s.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer c.leave(ctx)
	for total < limit {
		batch := min(limit-total, sweepBatchMax)
		deleted, err := c.sweep(ctx, s.options.IdleTimeout, grace, batch)
		total += deleted
		switch {
		case numberOf(err) == codeDeadlock: // another node's sweeper was faster
			return total, nil
		case err != nil:
			c.discard = readOnly(err)
			return total, failure("sweep", err)
		case deleted < batch:
			return total, nil
		}
	}
	return total, nil
}

func (c *conn) sweep(ctx context.Context, idle, grace time.Duration, batch int) (int, error) {
	if _, err := c.send(ctx, prepare(idle), begin); err != nil {
		return 0, err
	}
	ids, err := c.over(ctx, grace, batch)
	if err != nil {
		return 0, err
	}
	statements := []string{restore, commit}
	if len(ids) > 0 {
		statements = append([]string{"DELETE FROM " + table + " WHERE id IN (" + strings.Join(ids, ", ") + ")"}, statements...)
	}
	if _, err = c.send(ctx, statements...); err != nil {
		return 0, err
	}
	return len(ids), nil
}

// over locks the records that may be deleted and returns their ids as literals.
func (c *conn) over(ctx context.Context, grace time.Duration, batch int) (ids []string, err error) {
	rows, err := c.QueryContext(ctx, selectOver(grace, batch))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id []byte
		var readOnly bool
		if err := rows.Scan(&id, &readOnly); err != nil {
			return nil, err
		}
		if readOnly {
			return nil, errReadOnly
		}
		ids = append(ids, literal(id))
	}
	return ids, rows.Err()
}

// Backlog implements onceward.Store.
func (s *Store) Backlog(ctx context.Context, limit int) (left onceward.Backlog, _ error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	c, err := s.acquire(ctx)
	if err != nil {
		return left, err
	}
	defer c.leave(ctx)
	var microseconds int64
	if err := c.QueryRowContext(ctx, countOver(limit)).Scan(&left.Records, &microseconds); err != nil {
		return onceward.Backlog{}, failure("backlog", err)
	}
	left.Oldest = time.Duration(microseconds) * time.Microsecond
	return left, nil
}
