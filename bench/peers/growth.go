package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/bench"
)

const (
	growthCallers  = 8
	countersWithin = 20 * time.Second // the server publishes its counters when a connection ends, or later
)

// A vacuum would write as well, and take away what is to be counted.
const noVacuum = `DO $$ DECLARE t regclass; BEGIN
	FOR t IN SELECT relid FROM pg_stat_user_tables LOOP
		EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', t);
	END LOOP;
END $$`

// growthTable measures what an order leaves in the database.
func (l *lab) growthTable(ctx context.Context) (*table, error) {
	t := &table{
		name: "What an order leaves",
		about: fmt.Sprintf("Beside what the bare transaction writes, of %d orders by %d callers: log, by `pg_current_wal_insert_lsn` and without whole pages, "+
			"and dead rows, by `pg_stat_user_tables`, updates and deletes counted. Answers weigh %d bytes.", l.requests, growthCallers, answerBytes),
		rows: [][]string{{"side", "log, bytes", "dead rows"}},
	}
	for _, p := range peers[1:] {
		log, dead, err := l.growth(ctx, &p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		t.rows = append(t.rows, []string{p.name, fmt.Sprintf("%.0f", log), fmt.Sprintf("%.1f", dead)})
	}
	return t, nil
}

func (l *lab) growth(ctx context.Context, p *peer) (log, dead float64, err error) {
	// A checkpoint before the tables: none of their pages is logged as a whole.
	if _, err := l.server.Exec("postgres", "CHECKPOINT"); err != nil {
		return 0, 0, err
	}
	s, err := l.openStand(ctx, p, growthCallers, 0, nil)
	if err != nil {
		return 0, 0, err
	}
	defer s.close()
	if _, err := s.pool.Exec(ctx, noVacuum); err != nil {
		return 0, 0, err
	}
	if err := s.warm(ctx, growthCallers); err != nil {
		return 0, 0, err
	}
	bare, err := s.logged(ctx, s.bare)
	if err != nil {
		return 0, 0, err
	}
	with, err := s.logged(ctx, s.peer)
	if err != nil {
		return 0, 0, err
	}
	s.close()
	byEach := l.warmups*growthCallers + l.requests
	dead, err = s.dead(2*byEach, byEach)
	return max(0, with-bare), dead, err
}

// logged is what an order adds to the log, in bytes.
func (s *stand) logged(ctx context.Context, shop *shop) (float64, error) {
	const position = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
	var before, after int64
	err := errors.Join(
		s.pool.QueryRow(ctx, position).Scan(&before),
		bench.Calls(ctx, growthCallers, s.requests, s.orders(shop)),
		s.pool.QueryRow(ctx, position).Scan(&after))
	return float64(after-before) / float64(s.requests), err
}

// The sums over all tables, once all orders have been counted.
const counters = `SELECT coalesce(sum(n_tup_ins) FILTER (WHERE relname = 'orders'), 0), sum(greatest(n_dead_tup, n_tup_upd + n_tup_del))
	FROM pg_stat_user_tables`

// dead counts the rows that a vacuum would have to remove, for each order that the peer placed, when the pool is closed.
func (s *stand) dead(placed, byPeer int) (float64, error) {
	for deadline := time.Now().Add(countersWithin); ; time.Sleep(100 * time.Millisecond) {
		text, err := s.server.Exec(s.name, counters)
		if err != nil {
			return 0, err
		}
		var inserted, dead int
		if _, err := fmt.Sscanf(text, "%d|%d", &inserted, &dead); err != nil {
			return 0, err
		}
		switch {
		case inserted == placed:
			return float64(dead) / float64(byPeer), nil
		case time.Now().After(deadline):
			return 0, fmt.Errorf("the server counted %d orders, want %d", inserted, placed)
		}
	}
}
