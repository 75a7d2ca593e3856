package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/onceward/onceward/shop"
)

// migrate is the verb for the schema of onceward's own tables.
type migrate struct {
	Up     migrateUp     `cmd:"" help:"Apply the migrations that the database lacks."`
	Status migrateStatus `cmd:"" help:"List the migrations and whether the database has them."`
	Print  migratePrint  `cmd:"" help:"Print the plain SQL, to be run by another tool. Nothing is opened: \"postgres://\" or \"mysql://\" will do."`
}

// target is the database that a verb is about.
type target struct {
	Database string `required:"" help:"The path of a SQLite file, or a postgres:// or mysql:// URL." placeholder:"PATH|URL"`
}

// step is a migration as both stores have it.
type step struct {
	Number    int
	Name      string
	SQL       string
	AppliedAt time.Time // zero: not applied
}

// schema is onceward's tables in one database.
type schema interface {
	up(ctx context.Context) error
	status(ctx context.Context) ([]step, error)
	close() error
}

// open connects to the database; create says whether a file that is not there is made.
func (t target) open(ctx context.Context, create bool) (schema, error) {
	kind, err := shop.KindOf(t.Database)
	switch {
	case err != nil:
		return nil, err
	case kind == shop.KindPostgres:
		return openPostgres(ctx, t.Database)
	case kind == shop.KindMySQL:
		return openMySQL(ctx, t.Database)
	}
	return openSQLite(ctx, t.Database, create)
}

type migrateUp struct{ target }

// Run applies what is lacking and says what there is now.
func (m *migrateUp) Run(ctx context.Context, to streams) error {
	return m.with(ctx, true, to, schema.up)
}

type migrateStatus struct{ target }

// Run lists the migrations.
func (m *migrateStatus) Run(ctx context.Context, to streams) error {
	return m.with(ctx, false, to, func(schema, context.Context) error { return nil })
}

type migratePrint struct{ target }

// Run prints the statements of all migrations in their order.
func (m *migratePrint) Run(to streams) error {
	kind, err := shop.KindOf(m.Database)
	if err != nil {
		return err
	}
	steps := stepsSQLite()
	switch kind {
	case shop.KindPostgres:
		steps = stepsPostgres()
	case shop.KindMySQL:
		steps = stepsMySQL()
	}
	for _, s := range steps {
		if _, err := fmt.Fprintf(to.out, "-- %03d_%s\n%s\n", s.Number, s.Name, s.SQL); err != nil {
			return err
		}
	}
	return nil
}

// with does something to the schema and lists what there is then.
func (t target) with(ctx context.Context, create bool, to streams, do func(schema, context.Context) error) error {
	s, err := t.open(ctx, create)
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }() // everything is committed by then
	if err := do(s, ctx); err != nil {
		return err
	}
	steps, err := s.status(ctx)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	for _, step := range steps {
		state := "pending"
		if !step.AppliedAt.IsZero() {
			state = "applied " + step.AppliedAt.UTC().Format(time.RFC3339)
		}
		_, _ = fmt.Fprintf(table, "%03d\t%s\t%s\n", step.Number, step.Name, state) // Flush tells
	}
	return table.Flush()
}
