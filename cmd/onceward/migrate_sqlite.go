package main

import (
	"context"
	"os"

	"github.com/onceward/onceward/sqlitestore"
)

type sqliteSchema struct{ store *sqlitestore.Store }

func openSQLite(ctx context.Context, path string, create bool) (schema, error) {
	if _, err := os.Stat(path); err != nil && !create {
		return nil, err
	}
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return nil, err
	}
	return sqliteSchema{store}, nil
}

func (s sqliteSchema) up(ctx context.Context) error { return s.store.Migrate(ctx) }

func (s sqliteSchema) close() error { return s.store.Close() }

func (s sqliteSchema) status(ctx context.Context) (steps []step, _ error) {
	migrations, err := s.store.Status(ctx)
	for _, m := range migrations {
		steps = append(steps, step(m))
	}
	return steps, err
}

func stepsSQLite() (steps []step) {
	for _, m := range sqlitestore.Migrations() {
		steps = append(steps, step(m))
	}
	return steps
}
