package main

import (
	"bytes"
	"context"
	"crypto/sha256"

	"github.com/jackc/pgx/v5"
)

const (
	createKeys = `CREATE TABLE IF NOT EXISTS idempotency_keys (key text PRIMARY KEY, request_hash bytea NOT NULL, response bytea,
		created_at timestamptz NOT NULL DEFAULT now())`
	claimKey  = `INSERT INTO idempotency_keys (key, request_hash) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	selectKey = `SELECT request_hash, response FROM idempotency_keys WHERE key = $1`
	updateKey = `UPDATE idempotency_keys SET response = $2 WHERE key = $1`
)

// What many services write for themselves: the key's row is inserted first, which makes a duplicate wait, and holds the response in the end.
var recipe = peer{
	name: "recipe by hand",
	how: "one transaction: `INSERT` the key `ON CONFLICT DO NOTHING`, the order, `UPDATE` the key's row with the response, `COMMIT`; " +
		"a conflict reads the row and compares a SHA-256 of the request",
	open: func(ctx context.Context, s site) (*shop, error) {
		if _, err := s.pool.Exec(ctx, createKeys); err != nil {
			return nil, err
		}
		return &shop{close: func() {}, order: func(ctx context.Context, key string, quantity int) (response []byte, err error) {
			err = pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
				response, err = s.byRecipe(ctx, tx, key, quantity)
				return err
			})
			return response, err
		}}, nil
	},
}

func (s site) byRecipe(ctx context.Context, tx pgx.Tx, key string, quantity int) (response []byte, err error) {
	hash := sha256.Sum256([]byte(bodyOf(quantity)))
	claimed, err := tx.Exec(ctx, claimKey, key, hash[:])
	if err != nil {
		return nil, err
	}
	if claimed.RowsAffected() == 0 {
		var first []byte
		if err := tx.QueryRow(ctx, selectKey, key).Scan(&first, &response); err != nil {
			return nil, err
		}
		if !bytes.Equal(first, hash[:]) {
			return nil, errRefused
		}
		return response, nil
	}
	if response, err = s.place(ctx, tx, key, quantity); err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, updateKey, key, response)
	return response, err
}
