package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/pgxstore"
	"github.com/onceward/onceward/shop"
)

type postgresSchema struct{ pool *pgxpool.Pool }

func openPostgres(ctx context.Context, url string) (schema, error) {
	pool, err := shop.ConnectPostgres(ctx, url)
	if err != nil {
		return nil, err
	}
	return postgresSchema{pool}, nil
}

func (p postgresSchema) up(ctx context.Context) error { return pgxstore.Migrate(ctx, p.pool) }

func (p postgresSchema) close() error {
	p.pool.Close()
	return nil
}

func (p postgresSchema) status(ctx context.Context) (steps []step, _ error) {
	migrations, err := pgxstore.Status(ctx, p.pool)
	for _, m := range migrations {
		steps = append(steps, step(m))
	}
	return steps, err
}

func stepsPostgres() (steps []step) {
	for _, m := range pgxstore.Migrations() {
		steps = append(steps, step(m))
	}
	return steps
}
