package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync"
)

// row is a *sql.Row that needs no connection: it holds what one query has read already, or why it failed. database/sql
// lets nobody make such a row, except a driver; so this is one, whose only statement is the row itself.
func row(columns []string, values []any, err error) *sql.Row {
	ctx := context.WithValue(context.Background(), rowKey{}, &rowRead{columns, values, err})
	return inMemory().QueryRowContext(ctx, "")
}

var inMemory = sync.OnceValue(func() *sql.DB { return sql.OpenDB(rowDriver{}) })

type rowKey struct{}

type rowRead struct {
	columns []string
	values  []any
	err     error
}

type rowDriver struct{}

func (rowDriver) Connect(context.Context) (driver.Conn, error) { return rowConn{}, nil }
func (d rowDriver) Driver() driver.Driver                      { return d }
func (rowDriver) Open(string) (driver.Conn, error)             { return rowConn{}, nil }

type rowConn struct{}

var errRowOnly = errors.New("sqlstore: this connection holds one row")

func (rowConn) Prepare(string) (driver.Stmt, error) { return nil, errRowOnly }
func (rowConn) Begin() (driver.Tx, error)           { return nil, errRowOnly }
func (rowConn) Close() error                        { return nil }

func (rowConn) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	read := ctx.Value(rowKey{}).(*rowRead)
	if read.err != nil {
		return nil, read.err
	}
	return &rowRows{columns: read.columns, values: read.values}, nil
}

type rowRows struct {
	columns []string
	values  []any // nil when there is no (further) row
}

func (r *rowRows) Columns() []string { return r.columns }
func (r *rowRows) Close() error      { return nil }

func (r *rowRows) Next(into []driver.Value) error {
	if r.values == nil {
		return io.EOF
	}
	for i, value := range r.values {
		into[i] = value
	}
	r.values = nil
	return nil
}

// readRow takes the first row out of rows and closes them.
func readRow(rows *sql.Rows) *sql.Row {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return row(nil, nil, err)
	}
	if !rows.Next() {
		return row(columns, nil, rows.Err())
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		return row(nil, nil, err)
	}
	return row(columns, values, rows.Close())
}
