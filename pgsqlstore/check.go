package pgsqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/internal/postgres"
)

// Check says what keeps a store on db from working: no server, a standby, a schema that is missing or old, or prepared
// statements behind a pooler that gives every transaction another server process. Call it at the start of a program; the
// store itself reports the same when it meets it.
func Check(ctx context.Context, db *sql.DB) error {
	conn, err := New(db).begin(ctx, "check", postgres.Begin)
	if err != nil {
		return err
	}
	defer leave(ctx, conn)
	for _, statement := range postgres.Statements() {
		if _, err := conn.ExecContext(ctx, "PREPARE onceward_check AS "+statement); err != nil {
			return failure(ctx, "check", err)
		}
		if _, err := conn.ExecContext(ctx, "DEALLOCATE onceward_check"); err != nil {
			return failure(ctx, "check", err)
		}
	}
	// The driver prepares this very statement, or does not.
	const countPrepared = `SELECT count(*) FROM pg_prepared_statements WHERE statement = $1::text`
	var prepared int
	if err := conn.QueryRowContext(ctx, countPrepared, countPrepared).Scan(&prepared); err != nil {
		return failure(ctx, "check", err)
	}
	if prepared == 0 {
		return nil
	}
	return checkPooler(ctx, db, conn)
}

const (
	poolerProbes  = 3
	secondTimeout = time.Second // for a pool that has no second connection to give
)

var errPooler = errors.New("pgsqlstore: check: there is a pooler before the server, and the driver counts on prepared statements to last: " + poolerAdvice)

// checkPooler finds a pooler: two connections are answered by one process of the server, or one by several.
func checkPooler(ctx context.Context, db *sql.DB, first *sql.Conn) error {
	if _, err := first.ExecContext(ctx, "ROLLBACK"); err != nil {
		return failure(ctx, "check", err)
	}
	conns := []*sql.Conn{first}
	short, cancel := context.WithTimeout(ctx, secondTimeout)
	defer cancel()
	if second, err := db.Conn(short); err == nil {
		defer func() { _ = second.Close() }()
		conns = append(conns, second)
	}
	processes := map[int]*sql.Conn{}
	for range poolerProbes {
		for i, conn := range conns {
			// A text of its own for each connection: the driver may well give the same one the same name.
			var pid int
			if err := conn.QueryRowContext(ctx, fmt.Sprintf("SELECT pg_backend_pid() + 0 * %d", i)).Scan(&pid); err != nil {
				return failure(ctx, "check", err)
			}
			if other, known := processes[pid]; known && other != conn {
				return errPooler
			}
			processes[pid] = conn
		}
	}
	if len(processes) != len(conns) {
		return errPooler
	}
	return nil
}
