package postgres

import (
	"embed"

	"github.com/onceward/onceward/internal/migration"
)

//go:embed migrations/*.sql
var files embed.FS

// How a schema is migrated: whoever holds the lock makes the table of the steps, reads it, and applies the first that is
// lacking. What is lacking is read after the lock was won, and so must not be read by an older snapshot: the transaction
// is begun by Begin.
const (
	MigrateLock = 0x6f6e636577617264 // the letters "onceward"

	LockMigrations = `SELECT pg_advisory_xact_lock($1::bigint)`

	// CreateMigrations looks by itself whether the table is where CREATE would make it: CREATE … IF NOT EXISTS needs the
	// right to create in the schema even then, which a service's role need not have.
	CreateMigrations = `DO $$ BEGIN
	IF to_regclass(quote_ident(current_schema()) || '.onceward_migration') IS NULL THEN
		CREATE TABLE ` + migrationTable + `;
	END IF;
END $$`
	migrationTable = `onceward_migration (
    number     integer     NOT NULL PRIMARY KEY,
    name       text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)`
	InsertMigration = `INSERT INTO onceward_migration (number, name) VALUES ($1, $2)`
)

// Migrations are the steps of the schema.
func Migrations() []migration.Migration {
	all, err := migration.Read(files, "migrations")
	if err != nil {
		panic(err) // they are embedded: the tests have read them
	}
	return all
}

// Whole is a step for a tool that runs SQL.
func Whole(m migration.Migration) string {
	return m.Whole("CREATE TABLE IF NOT EXISTS "+migrationTable, "INSERT INTO onceward_migration (number, name) VALUES (%d, %s)")
}
