package pgxstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/migration"
	"github.com/onceward/onceward/internal/postgres"
)

// Migration is a numbered step of the schema.
type Migration struct {
	Number    int
	Name      string
	SQL       string
	AppliedAt time.Time // zero: not applied, or not asked for
}

// Migrations returns all steps as plain SQL, to be read or to be run by a tool of one's own. Each notes itself in the table
// onceward_migration, where Status and Migrate find it.
func Migrations() []Migration {
	all := postgres.Migrations()
	steps := make([]Migration, len(all))
	for i, m := range all {
		steps[i] = Migration{Number: m.Number, Name: m.Name, SQL: postgres.Whole(m)}
	}
	return steps
}

// Migrate applies the steps that the database lacks, each in a transaction of its own. Several processes may call it at
// once: they take turns. It is an error if the database is ahead of this program. Where nothing is lacking, the role needs
// the right to read the table onceward_migration and no other.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	all := postgres.Migrations()
	for {
		done, err := migrateOne(ctx, pool, all)
		if err != nil {
			return fmt.Errorf("pgxstore: migrate: %w", scrub(err))
		}
		if done {
			return nil
		}
	}
}

// migrateOne applies the first step that is lacking and reports whether there was none. What is lacking is read after
// the lock was won, and so must not be read by an older snapshot: hence the explicit isolation.
func migrateOne(ctx context.Context, pool *pgxpool.Pool, all []migration.Migration) (done bool, _ error) {
	return done, pgx.BeginTxFunc(ctx, pool, beginAttempt, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, postgres.LockMigrations, int64(postgres.MigrateLock)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, postgres.CreateMigrations); err != nil {
			return err
		}
		applied, err := appliedNumbers(ctx, tx)
		if err != nil {
			return err
		}
		pending, err := migration.Pending(all, applied)
		if done = len(pending) == 0; err != nil || done {
			return err
		}
		return apply(ctx, tx, pending[0])
	})
}

func appliedNumbers(ctx context.Context, tx pgx.Tx) ([]int, error) {
	rows, err := tx.Query(ctx, "SELECT number FROM onceward_migration")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int])
}

// apply runs a step's statements, of which only the simple protocol takes several at once.
func apply(ctx context.Context, tx pgx.Tx, m migration.Migration) error {
	if _, err := tx.Exec(ctx, m.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("number %d (%s): %w", m.Number, m.Name, scrub(err))
	}
	_, err := tx.Exec(ctx, postgres.InsertMigration, m.Number, m.Name)
	return err
}

// Status returns all steps, and of those that have been applied the time. It changes nothing.
func Status(ctx context.Context, pool *pgxpool.Pool) ([]Migration, error) {
	steps := Migrations()
	rows, err := pool.Query(ctx, "SELECT number, applied_at FROM onceward_migration WHERE number <= $1", len(steps))
	if err == nil {
		var number int
		var at time.Time
		_, err = pgx.ForEachRow(rows, []any{&number, &at}, func() error {
			steps[number-1].AppliedAt = at
			return nil
		})
	}
	if server := pgError(err); server != nil && server.Code == postgres.UndefinedTable {
		return steps, nil // nothing has been applied yet
	}
	if err != nil {
		return nil, failure("status", err)
	}
	return steps, nil
}

// Check says what keeps a store on pool from working: no server, a standby, a schema that is missing or old, or
// prepared statements behind a pooler that gives every transaction another server process. Call it at the start of a
// program; the store itself reports the same when it meets it.
func Check(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("%w: check: %w", onceward.ErrUnavailable, scrub(err))
	}
	defer conn.Release()
	var standby bool
	var pid uint32
	err = conn.QueryRow(ctx, "SELECT pg_is_in_recovery(), pg_backend_pid()", pgx.QueryExecModeExec).Scan(&standby, &pid)
	switch {
	case err != nil:
		return failure("check", err)
	case standby:
		return fmt.Errorf("%w: check: the server is a standby", onceward.ErrUnavailable)
	}
	if err := checkMode(conn.Conn(), pid); err != nil {
		return err
	}
	for _, sql := range postgres.Statements() {
		if _, err := conn.Conn().PgConn().Prepare(ctx, "", sql, nil); err != nil {
			return failure("check", err)
		}
	}
	return nil
}

// checkMode finds a pooler: it names another process than the one that answers.
func checkMode(conn *pgx.Conn, pid uint32) error {
	switch mode := conn.Config().DefaultQueryExecMode; mode {
	case pgx.QueryExecModeCacheStatement, pgx.QueryExecModeDescribeExec:
		if pid != conn.PgConn().PID() {
			return fmt.Errorf("pgxstore: check: there is a pooler before the server, and the exec mode %v counts on prepared statements to last: add default_query_exec_mode=exec (or cache_describe) to the connection string", mode)
		}
	}
	return nil
}
