package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/onceward/onceward"
)

// writer is the connection that writes. Who has the turn has it.
type writer struct {
	conn       *sql.Conn
	path       string
	location   location // known from the first transaction on, which opens the log
	statements map[string]*sql.Stmt

	// The connection's callbacks read and write these, on the goroutine whose statement calls back.
	working atomic.Bool            // statements come from a work
	ending  atomic.Bool            // the store itself commits or rolls back
	lost    atomic.Bool            // the transaction ended otherwise
	denied  atomic.Pointer[denial] // what the authorizer refused last

	broken  bool // the connection's state is not known: it is not to be used again
	suspect bool // a commit failed after it may have reached the log (see settle)
}

// openWriter takes db's connection and puts the file in WAL mode.
func openWriter(ctx context.Context, db *sql.DB, path string, o Options) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, explain(err)
	}
	w := &writer{conn: conn, path: path, statements: map[string]*sql.Stmt{}}
	if err = enterWAL(ctx, conn, o.BusyTimeout); err == nil {
		err = conn.Raw(w.watch)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

// writable finds a file that SQLite has opened for reading only, for want of a permission: it even begins a transaction for
// writing there. That the file is locked says nothing.
func (w *writer) writable(ctx context.Context) error {
	err := w.begin(ctx)
	if err == nil {
		err = w.plain(ctx, "CREATE TABLE IF NOT EXISTS main.onceward_writable (n INTEGER)") // never committed
		w.rollback()
	}
	if codeOf(err) == lib.SQLITE_READONLY {
		return fmt.Errorf("it can be read only: %w", err)
	}
	return nil
}

// watch installs the callbacks: the authorizer refuses statements before they run; the hooks see what it cannot, a
// transaction that ends inside a statement.
func (w *writer) watch(connection any) error {
	hooks, ok := connection.(sqlite.HookRegisterer)
	if !ok {
		return errors.New("the driver has no hooks")
	}
	authorizer, ok := connection.(sqlite.AuthorizerRegisterer)
	if !ok {
		return errors.New("the driver has no authorizer")
	}
	hooks.RegisterCommitHook(func() int32 {
		if w.ending.Load() {
			return 0
		}
		w.lost.Store(true)
		return 1 // the commit becomes a rollback
	})
	hooks.RegisterRollbackHook(func() {
		if !w.ending.Load() {
			w.lost.Store(true)
		}
	})
	return authorizer.RegisterAuthorizer(w.authorize)
}

// ExecContext runs a statement of the store's own; it is prepared once. The store's statements leave no rows open, so
// preparing is safe here (see sqlstore.ErrPrepare).
func (w *writer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	statement, err := w.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(ctx, args...)
}

// row is the one row of a query of the store's own. It has to be scanned before the next statement.
func (w *writer) row(ctx context.Context, query string, args ...any) scanner {
	statement, err := w.prepared(ctx, query)
	if err != nil {
		return failed{err}
	}
	return statement.QueryRowContext(ctx, args...)
}

// plain runs a statement of the store's own that is sent only once.
func (w *writer) plain(ctx context.Context, statement string) error {
	_, err := w.conn.ExecContext(ctx, statement)
	return err
}

type scanner interface{ Scan(into ...any) error }

type failed struct{ err error }

func (f failed) Scan(...any) error { return f.err }

func (w *writer) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement := w.statements[query]; statement != nil {
		return statement, nil
	}
	statement, err := w.conn.PrepareContext(ctx, query)
	if err == nil {
		w.statements[query] = statement
	}
	return statement, err
}

// begin takes the lock on the file. A wait for another process's ends with ctx, or with the busy timeout.
func (w *writer) begin(ctx context.Context) error {
	if w.suspect {
		if err := w.settle(ctx); err != nil {
			return err
		}
	}
	w.lost.Store(false)
	if _, err := w.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		w.rollback() // the driver reports a context that ends as the lock is won, and leaves the transaction open
		return explain(err)
	}
	if w.location.known() {
		return nil
	}
	var err error
	if w.location, err = locate(w.path); err != nil {
		w.rollback()
		return fmt.Errorf("%w: %w", onceward.ErrUnavailable, err)
	}
	return nil
}

// touchSQL moves a time by a millisecond: SQLite does not write a row that stays as it is.
const touchSQL = "UPDATE main.onceward_migration SET applied_at = applied_at + 1 WHERE number = 1"

// settle makes sure that a transaction whose COMMIT failed stays away. It may lie in the write-ahead log as a whole,
// after the log's end (see commitError): one small durable commit overwrites its first frame, and a log is recovered no
// further than to the first frame that does not continue its checksums.
func (w *writer) settle(ctx context.Context) error {
	w.suspect = false
	err := w.begin(ctx)
	if err == nil {
		if _, err = w.ExecContext(ctx, touchSQL); err == nil {
			err = w.commit()
		} else {
			w.rollback()
		}
	}
	w.suspect = err != nil
	return explain(err)
}

// commit ends the transaction. No context may interrupt it: the driver would then report a commit that took effect as an
// error. Its time is that of an fsync. After an error the transaction is rolled back.
func (w *writer) commit() error {
	if err := w.location.check(); err != nil {
		w.rollback()
		return err
	}
	w.ending.Store(true)
	defer w.ending.Store(false)
	_, err := w.ExecContext(context.Background(), "COMMIT")
	if err == nil {
		return nil
	}
	w.rollback()
	err = commitError(err)
	w.suspect = errors.Is(err, onceward.ErrCommitUnknown)
	return err
}

// rollback ends the transaction, if SQLite has not ended it by itself already.
func (w *writer) rollback() {
	w.ending.Store(true)
	defer w.ending.Store(false)
	_, err := w.ExecContext(context.Background(), "ROLLBACK")
	if err != nil && codeOf(err) != lib.SQLITE_ERROR { // SQLITE_ERROR: no transaction is active
		w.broken = true
	}
}

// close closes the connection, which rolls back what is open on it.
func (w *writer) close() error {
	for _, statement := range w.statements {
		_ = statement.Close()
	}
	if w.broken {
		_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // keeps it out of the pool
	}
	if err := w.conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
		return err
	}
	return nil
}
