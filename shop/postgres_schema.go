package shop

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/internal/migration"
)

// schemaLock is the advisory lock of whoever changes the shop's tables: the letters "shop".
const schemaLock = 0x73686f70

// dropTimeout bounds the wait for a table that somebody uses.
const dropTimeout = "5s"

// recordTable is where pgxstore keeps its records.
const recordTable = "onceward_record"

// createMigrations looks by itself whether the table is there: CREATE … IF NOT EXISTS needs the right to create in the schema
// even then.
const createMigrations = `DO $$ BEGIN
	IF to_regclass(quote_ident(current_schema()) || '.` + migrationTable + `') IS NULL THEN
		CREATE TABLE ` + migrationTable + ` (number integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
	END IF;
END $$`

// migratePostgres makes the shop's tables what this program needs. Processes that start at once take turns.
func migratePostgres(ctx context.Context, pool *pgxpool.Pool) error {
	return changePostgres(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, createMigrations); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT number FROM `+migrationTable)
		if err != nil {
			return err
		}
		applied, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return err
		}
		pending, err := migration.Pending(migrations(KindPostgres), applied)
		if err != nil {
			return err
		}
		for _, step := range pending {
			if err := applyPostgres(ctx, tx, step); err != nil {
				return err
			}
		}
		return nil
	})
}

func applyPostgres(ctx context.Context, tx pgx.Tx, step migration.Migration) error {
	// Only the simple protocol takes several statements at once.
	if _, err := tx.Exec(ctx, step.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("migration %03d_%s: %w", step.Number, step.Name, err)
	}
	_, err := tx.Exec(ctx, `INSERT INTO `+migrationTable+` (number, name) VALUES ($1, $2)`, step.Number, step.Name)
	return err
}

// dropPostgres removes the demo from a database: the shop's tables, where the shop has made them, and the records of the
// demo's tenants. Onceward's own tables stay, since another service may have records there.
func dropPostgres(ctx context.Context, pool *pgxpool.Pool) error {
	return changePostgres(ctx, pool, func(tx pgx.Tx) error {
		var ours, records bool
		err := tx.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL`, migrationTable, recordTable).Scan(&ours, &records)
		if err != nil || !ours {
			return err
		}
		if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '`+dropTimeout+`'`); err != nil {
			return err
		}
		for _, table := range append(tables, migrationTable) {
			if _, err := tx.Exec(ctx, `DROP TABLE IF EXISTS `+table); err != nil {
				return err
			}
		}
		if !records {
			return nil
		}
		return dropRecords(ctx, tx)
	})
}

func dropRecords(ctx context.Context, tx pgx.Tx) error {
	var tenants []string
	for _, caller := range demoCallers {
		tenants = append(tenants, caller.Tenant)
	}
	_, err := tx.Exec(ctx, `DELETE FROM `+recordTable+` WHERE operation = ANY($1) AND tenant = ANY($2)`, operationNames(), tenants)
	return err
}

// changePostgres changes the schema in one transaction, alone. What is there is read after the lock was won, so not by
// an older snapshot: hence the explicit isolation.
func changePostgres(ctx context.Context, pool *pgxpool.Pool, change func(tx pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::bigint)`, int64(schemaLock)); err != nil {
			return err
		}
		return change(tx)
	})
}
