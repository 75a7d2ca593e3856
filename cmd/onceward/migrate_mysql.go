package main

import (
	"context"
	"database/sql"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward/mysqlstore"
)

type mysqlSchema struct{ db *sql.DB }

func openMySQL(url string) (schema, error) {
	config, err := mysqlstore.ParseURL(url)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return mysqlSchema{sql.OpenDB(connector)}, nil
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
