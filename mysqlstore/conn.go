package mysqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// conn is a connection of the pool in the store's hands.
type conn struct {
	*sql.Conn
	multi   bool // it takes several statements in one round trip
	cluster bool // it leads to a node of a cluster
	discard bool // it must not go back to the pool
}

// send runs the store's own statements in one round trip where that is allowed, else one after the other, and returns how
// many rows the last one has changed. They end at the first error.
func (c *conn) send(ctx context.Context, statements ...string) (rows int64, err error) {
	if c.multi {
		statements = []string{strings.Join(statements, ";\n")}
	}
	var result sql.Result
	for _, statement := range statements {
		if result, err = c.ExecContext(ctx, statement); err != nil {
			return 0, err
		}
	}
	return result.RowsAffected()
}

// read sends a query of selectRecord, and then what follows it, and returns the record; nil if there is none.
func (c *conn) read(ctx context.Context, want *onceward.Record, query string, then ...string) (*onceward.Record, error) {
	if c.multi {
		query = strings.Join(append([]string{query}, then...), ";\n")
		then = nil
	}
	record, err := readRecord(ctx, c, want, query)
	if err == nil && len(then) > 0 {
		_, err = c.send(ctx, then...)
	}
	return record, err
}

// readRecord reads the answer to a query of selectRecord, and those to whatever follows in the same text.
func readRecord(ctx context.Context, tx sqlstore.Tx, want *onceward.Record, query string) (record *onceward.Record, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }() // which reads what follows
	if !rows.Next() {
		return nil, rows.Err()
	}
	var readOnly bool
	record, err = sqlstore.Scan(with(rows, &readOnly))
	switch {
	case err != nil:
		return nil, err
	case readOnly:
		return nil, errReadOnly
	case !record.Names(want):
		return nil, onceward.ErrCollision
	}
	return record, rows.Err()
}

// with is a row that has one more column than its reader knows of.
func with(row scanner, more any) scanner { return extended{row, more} }

type scanner interface{ Scan(into ...any) error }

type extended struct {
	row  scanner
	more any
}

func (e extended) Scan(into ...any) error { return e.row.Scan(append(into, e.more)...) }

// leave rolls back what the connection is in, also for a caller who is gone, and gives it back.
func (c *conn) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if _, err := c.send(ctx, rollback, restore); err != nil {
		c.discard = true
	}
	c.release()
}

// release gives the connection back, or closes it where its state is not known.
func (c *conn) release() {
	if c.discard {
		_ = c.Raw(func(any) error { return driver.ErrBadConn }) // keeps it out of the pool
	}
	_ = c.Close() // it reports only that it is closed already
}

// server is what a store knows of the server and of the connections to it.
type server struct {
	multi   bool
	cluster bool // it is a node of a Galera cluster
}

// versionMin is the first version of MariaDB that has all that the store sends: SKIP LOCKED came last.
var versionMin = [2]int{10, 6}

// meet asks, once, whether the server and its connections are what the store needs. It is asked again after an error.
func (s *Store) meet(ctx context.Context, c *sql.Conn) (*server, error) {
	if met := s.met.Load(); met != nil {
		return met, nil
	}
	var version string
	var autocommit bool
	if err := c.QueryRowContext(ctx, "SELECT VERSION(), @@autocommit").Scan(&version, &autocommit); err != nil {
		return nil, failure("first use", err)
	}
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	switch {
	case err != nil || !strings.Contains(version, "MariaDB") || major < versionMin[0] || major == versionMin[0] && minor < versionMin[1]:
		return nil, fmt.Errorf("%w: its version is %.80q, and MariaDB %d.%d or later is needed", errUnfit, version, versionMin[0], versionMin[1])
	case !autocommit:
		return nil, fmt.Errorf("%w: it does not commit by itself: remove autocommit from the data source name, or from the server's settings", errUnfit)
	}
	_, err = c.ExecContext(ctx, "DO 0; DO 0")
	if err != nil && numberOf(err) != codeSyntax {
		return nil, failure("first use", err)
	}
	met := &server{multi: err == nil}
	// A server without Galera has the variable too, as OFF; one that was built without it has none.
	err = c.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.global_variables WHERE variable_name = 'WSREP_ON' AND variable_value = 'ON'").Scan(&met.cluster)
	if err != nil {
		return nil, failure("first use", err)
	}
	s.met.Store(met)
	return met, nil
}
