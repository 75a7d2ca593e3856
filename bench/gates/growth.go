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

// What the database grows by.
var growth = trial{
	gates: []gate{
		{name: "extra WAL per request", unit: " B", most: true, need: 750, aim: 600},
		{name: "dead rows per request", decimals: 3, most: true, need: 0, aim: 0},
	},
	measure: func(ctx context.Context, l *lab) ([]figure, error) {
		// The tables are made after a checkpoint, so that none of their pages is ever logged as a whole: how often that
		// is done depends on the table's size and the time between checkpoints, and not on a request.
		if _, err := l.server.Exec("postgres", "CHECKPOINT"); err != nil {
			return nil, err
		}
		shop, err := l.server.OpenShop(ctx, growthCallers, 0)
		if err != nil {
			return nil, err
		}
		extra, err := l.extraLog(ctx, shop)
		shop.Close()
		if err != nil {
			return nil, err
		}
		dead, err := l.deadRows(shop)
		return []figure{extra, dead}, err
	},
}

// extraLog is the log of a request with onceward less that of one without.
func (l *lab) extraLog(ctx context.Context, shop *bench.Shop) (figure, error) {
	// A vacuum in between would write as well.
	if _, err := shop.Pool.Exec(ctx, "ALTER TABLE orders SET (autovacuum_enabled = off); ALTER TABLE onceward_record SET (autovacuum_enabled = off)"); err != nil {
		return figure{}, err
	}
	if err := shop.Warm(ctx, growthCallers, l.requests); err != nil {
		return figure{}, err
	}
	var extra, bare []float64
	for range l.rounds {
		without, err := l.logged(ctx, shop, shop.Bare)
		if err != nil {
			return figure{}, err
		}
		with, err := l.logged(ctx, shop, shop.Once)
		if err != nil {
			return figure{}, err
		}
		extra, bare = append(extra, with-without), append(bare, without)
	}
	return figure{bench.Median(extra), fmt.Sprintf(
		"%s, %d requests a side, beside %.0f B of the bare transaction; a body of 400 B and headers of 100 B, by pg_current_wal_insert_lsn; "+
			"no whole-page images on either side: a checkpoint precedes the tables", spread(extra, "%.0f B"), l.requests, bench.Median(bare))}, nil
}

// logged is what a request adds to the log, in bytes.
func (l *lab) logged(ctx context.Context, shop *bench.Shop, place func(context.Context) error) (float64, error) {
	const position = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
	var before, after int64
	err := errors.Join(
		shop.Pool.QueryRow(ctx, position).Scan(&before),
		bench.Calls(ctx, growthCallers, l.requests, place),
		shop.Pool.QueryRow(ctx, position).Scan(&after))
	return float64(after-before) / float64(l.requests), err
}

// The sums over all tables, once the records that were saved have been counted.
const counters = `SELECT coalesce(sum(n_tup_ins) FILTER (WHERE relname = 'onceward_record'), 0), sum(greatest(n_dead_tup, n_tup_upd + n_tup_del))
	FROM pg_stat_user_tables`

// deadRows counts what a vacuum would have to remove, when the shop is closed. An update or a delete counts as a dead row
// also where its page was cleaned since.
func (l *lab) deadRows(shop *bench.Shop) (figure, error) {
	requests := (l.rounds + 1) * l.requests
	for deadline := time.Now().Add(countersWithin); ; time.Sleep(100 * time.Millisecond) {
		text, err := l.server.Exec(shop.Database(), counters)
		if err != nil {
			return figure{}, err
		}
		var saved, dead int
		if _, err := fmt.Sscanf(text, "%d|%d", &saved, &dead); err != nil {
			return figure{}, err
		}
		switch {
		case saved == requests:
			return figure{float64(dead) / float64(requests), fmt.Sprintf(
				"%d requests left %d dead rows in all tables, by pg_stat_user_tables, updates and deletes counted, autovacuum off", requests, dead)}, nil
		case time.Now().After(deadline):
			return figure{}, fmt.Errorf("the server counted %d records, want %d", saved, requests)
		}
	}
}
