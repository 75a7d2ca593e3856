package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// ErrPrepare is what PrepareContext of a Guard answers. A statement prepared on one connection can be used after the
// work has returned, past every guard; and database/sql closes it under rows that are still being read, which crashes
// the SQLite driver. Send the statement directly: drivers for sqlc, GORM and ent do so unless told otherwise.
var ErrPrepare = errors.New("sqlstore: a work's transaction does not prepare statements; send them with ExecContext, QueryContext or QueryRowContext")

// Hooks let a store watch over each statement of a Guard. Either may be nil.
type Hooks struct {
	// Before gives the context that the statement query runs under, or refuses the statement.
	Before func(ctx context.Context, query string) (context.Context, error)
	// After sees the error of a statement, nil included, and gives the one that the work gets.
	After func(err error) error
}

// Guard is a Tx around another, for one work: it is dead from End on, for goroutines that outlive the work too, and what
// the work left open is closed then. It is safe for concurrent use as far as its Tx is.
type Guard struct {
	inner Tx
	hooks Hooks

	mu    sync.RWMutex // read-held by each statement; write-held by who needs to be alone
	ended error

	openMu sync.Mutex
	open   []*sql.Rows
	prune  int // the length of open at which closed rows are dropped from it
}

// NewGuard makes a guard around tx.
func NewGuard(tx Tx, hooks Hooks) *Guard {
	return &Guard{inner: tx, hooks: hooks, prune: 16}
}

// End makes g answer err from now on. It waits for statements that still run and closes the rows that the work left open.
func (g *Guard) End(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = err
	for _, rows := range g.open {
		_ = rows.Close()
	}
	g.open = nil
}

// Alone runs f on the transaction itself, when no statement of the work runs and while none can.
func (g *Guard) Alone(f func(tx Tx) error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil {
		return g.ended
	}
	return f(g.inner)
}

// ExecContext implements Tx.
func (g *Guard) ExecContext(ctx context.Context, query string, args ...any) (result sql.Result, err error) {
	err = g.statement(ctx, query, func(ctx context.Context) (err error) {
		result, err = g.inner.ExecContext(ctx, query, args...)
		return err
	})
	return result, err
}

// QueryContext implements Tx. Rows that the work does not close are closed when it ends.
func (g *Guard) QueryContext(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	err = g.statement(ctx, query, func(ctx context.Context) (err error) {
		if rows, err = g.inner.QueryContext(ctx, query, args...); err == nil {
			g.track(rows)
		}
		return err
	})
	return rows, err
}

// QueryRowContext implements Tx. The row is read at once, so that one that is never scanned leaves nothing open.
func (g *Guard) QueryRowContext(ctx context.Context, query string, args ...any) (read *sql.Row) {
	err := g.statement(ctx, query, func(ctx context.Context) error {
		rows, err := g.inner.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		read = readRow(rows)
		return read.Err()
	})
	if err != nil {
		return row(nil, nil, err)
	}
	return read
}

// PrepareContext refuses with ErrPrepare.
func (g *Guard) PrepareContext(context.Context, string) (*sql.Stmt, error) { return nil, ErrPrepare }

func (g *Guard) statement(ctx context.Context, query string, send func(ctx context.Context) error) (err error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.ended != nil {
		return g.ended
	}
	if g.hooks.Before != nil {
		if ctx, err = g.hooks.Before(ctx, query); err != nil {
			return err
		}
	}
	err = send(ctx)
	if g.hooks.After != nil {
		err = g.hooks.After(err)
	}
	return err
}

// track remembers rows for the end. A work may send any number of queries, so rows that are closed by then are dropped
// now and again: Columns fails on them and only on them.
func (g *Guard) track(rows *sql.Rows) {
	g.openMu.Lock()
	defer g.openMu.Unlock()
	if g.open = append(g.open, rows); len(g.open) < g.prune {
		return
	}
	kept := g.open[:0]
	for _, rows := range g.open {
		if _, err := rows.Columns(); err == nil {
			kept = append(kept, rows)
		}
	}
	clear(g.open[len(kept):])
	g.open = kept
	g.prune = max(16, 2*len(kept))
}
