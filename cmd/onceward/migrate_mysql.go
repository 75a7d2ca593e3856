package main

import (
	"context"
	"database/sql"

	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/shop"
)

type mysqlSchema struct{ db *sql.DB }

func openMySQL(ctx context.Context, url string) (schema, error) {
	db, err := shop.ConnectMySQL(ctx, url)
	if err != nil {
		return nil, err
	}
	return mysqlSchema{db}, nil
}

func (m mysqlSchema) up(ctx context.Context) error { return mysqlstore.Migrate(ctx, m.db) }

func (m mysqlSchema) close() error { return m.db.Close() }

func (m mysqlSchema) status(ctx context.Context) (steps []step, _ error) {
	migrations, err := mysqlstore.Status(ctx, m.db)
	for _, applied := range migrations {
		steps = append(steps, step(applied))
	}
	return steps, err
}

func stepsMySQL() (steps []step) {
	for _, m := range mysqlstore.Migrations() {
		steps = append(steps, step(m))
	}
	return steps
}
