package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward/internal/migration"
	"github.com/onceward/onceward/mysqlstore"
)

const (
	// In MariaDB each CREATE commits by itself, so that a step may have been begun and not applied.
	createMySQLMigrations = `CREATE TABLE IF NOT EXISTS ` + migrationTable + ` (number INT NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL,
		applied_at DATETIME(6)) ENGINE = InnoDB`

	// Whoever changes the shop's tables holds this lock, which is the server's: hence the database's name.
	lockMySQLSchema   = `SELECT COALESCE(GET_LOCK(CONCAT('shop ', MD5(DATABASE())), 60), 0)`
	unlockMySQLSchema = `DO RELEASE_LOCK(CONCAT('shop ', MD5(DATABASE())))`
)

// ConnectMySQL makes a pool and reaches the server once, so that a wrong URL is found at the start; it waits at most five
// seconds, unless the URL's timeout says otherwise.
func ConnectMySQL(ctx context.Context, url string) (*sql.DB, error) {
	config, err := mysqlstore.ParseURL(url)
	if err != nil {
		return nil, err
	}
	if config.Timeout == 0 {
		config.Timeout = connectTimeout
	}
	config.ClientFoundRows = true // Database.Exec counts what fitted
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	limited, cancel := context.WithTimeout(ctx, config.Timeout) // which bounds the dialling alone
	defer cancel()
	if err := db.PingContext(limited); err != nil {
		return nil, errors.Join(fmt.Errorf("%s does not answer as a MariaDB server: %w", config.Addr, err), db.Close())
	}
	return db, nil
}

// changeMySQL changes the schema on one connection, alone.
func changeMySQL(ctx context.Context, db *sql.DB, change func(conn *sql.Conn) error) (err error) {
	conn, err := db.Conn(ctx) // the lock is a connection's
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var locked bool
	if err := conn.QueryRowContext(ctx, lockMySQLSchema).Scan(&locked); err != nil {
		return err
	}
	if !locked {
		return errors.New("another process has been changing the shop's tables for a minute")
	}
	defer func() {
		_, unlock := conn.ExecContext(context.WithoutCancel(ctx), unlockMySQLSchema)
		err = errors.Join(err, unlock)
	}()
	return change(conn)
}

// migrateMySQL makes the shop's tables what this program needs. Processes that start at once take turns.
func migrateMySQL(ctx context.Context, db *sql.DB) error {
	return changeMySQL(ctx, db, func(conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, createMySQLMigrations); err != nil {
			return err
		}
		applied, err := column[int](ctx, conn, `SELECT number FROM `+migrationTable+` WHERE applied_at IS NOT NULL`)
		if err != nil {
			return err
		}
		pending, err := migration.Pending(migrations(KindMySQL), applied)
		if err != nil {
			return err
		}
		for _, step := range pending {
			if err := applyMySQL(ctx, conn, step); err != nil {
				return fmt.Errorf("migration %03d_%s: %w", step.Number, step.Name, err)
			}
		}
		return nil
	})
}

// applyMySQL applies a step. Only one that an earlier process had begun finds its tables there.
func applyMySQL(ctx context.Context, conn *sql.Conn, step migration.Migration) error {
	result, err := conn.ExecContext(ctx, `INSERT IGNORE INTO `+migrationTable+` (number, name) VALUES (?, ?)`, step.Number, step.Name)
	if err != nil {
		return err
	}
	text := step.SQL
	if added, err := result.RowsAffected(); err != nil {
		return err
	} else if added == 1 {
		text = strings.ReplaceAll(text, "CREATE TABLE IF NOT EXISTS", "CREATE TABLE")
	}
	if _, err := conn.ExecContext(ctx, text); err != nil {
		if text != step.SQL {
			_, undo := conn.ExecContext(context.WithoutCancel(ctx), `DELETE FROM `+migrationTable+` WHERE number = ?`, step.Number)
			err = errors.Join(err, undo)
		}
		return err
	}
	_, err = conn.ExecContext(ctx, `UPDATE `+migrationTable+` SET applied_at = UTC_TIMESTAMP(6) WHERE number = ?`, step.Number)
	return err
}

// dropMySQL removes the demo from a database: the shop's tables, where the shop has made them, and the records of the demo's
// tenants. Onceward's own tables stay, since another service may have records there.
func dropMySQL(ctx context.Context, db *sql.DB) error {
	return changeMySQL(ctx, db, func(conn *sql.Conn) error {
		present, err := column[string](ctx, conn, `SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()`)
		if err != nil || !contains(present, migrationTable) {
			return err
		}
		if _, err := conn.ExecContext(ctx, `SET SESSION lock_wait_timeout = 5`); err != nil {
			return err
		}
		for _, table := range append(tables, migrationTable) {
			if _, err := conn.ExecContext(ctx, `DROP TABLE IF EXISTS `+table); err != nil {
				return err
			}
		}
		if !contains(present, recordTable) {
			return nil
		}
		return dropMySQLRecords(ctx, conn)
	})
}

func dropMySQLRecords(ctx context.Context, conn *sql.Conn) error {
	var arguments []any
	for _, name := range operationNames() {
		arguments = append(arguments, name)
	}
	names := len(arguments)
	for _, caller := range demoCallers {
		arguments = append(arguments, caller.Tenant)
	}
	_, err := conn.ExecContext(ctx, `DELETE FROM `+recordTable+` WHERE operation IN (`+marks(names)+`) AND tenant IN (`+marks(len(demoCallers))+`)`, arguments...)
	return err
}

// contains looks for a table's name, which some servers write in small letters.
func contains(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}
