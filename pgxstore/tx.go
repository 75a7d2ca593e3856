package pgxstore

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// The transaction states that PostgreSQL reports after every answer.
const (
	txIdle   = 'I'
	txFailed = 'E'
)

// cutTimeout bounds the request to the server to stop what it is doing for a connection that is given up.
const cutTimeout = time.Second

// hold is an attempt's grip on its connection, shared by the transaction handed out and the savepoints in it.
type hold struct {
	conn *pgx.Conn // nil where a caller's transaction does not tell

	mu      sync.Mutex
	running int           // calls of the work
	over    chan struct{} // made when the work has returned, closed when no call runs any more
	rawEnd  bool          // the work ended the transaction by SQL

	wrote atomic.Bool // a call was answered that it wrote; a work may write without that
}

// enter lets a call of the work begin.
func (h *hold) enter() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		return errOver
	}
	if h.running == 0 {
		h.look()
	}
	if h.rawEnd {
		return errRawEnd
	}
	h.running++
	return nil
}

// leave ends a call of the work and returns its error, unless the call ended the transaction.
func (h *hold) leave(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	if h.over != nil {
		if h.running == 0 {
			close(h.over)
		}
		return errOver
	}
	if h.look(); h.rawEnd {
		return errRawEnd
	}
	return err
}

// note keeps what a call was answered. Without a row written there is no need for a transaction id yet.
func (h *hold) note(tag pgconn.CommandTag) {
	if tag.RowsAffected() > 0 && (tag.Insert() || tag.Update() || tag.Delete()) {
		h.wrote.Store(true)
	}
}

// look notices that the connection is in no transaction any more. A statement sent now would be its own transaction.
func (h *hold) look() {
	if h.conn != nil && !h.conn.IsClosed() && h.conn.PgConn().TxStatus() == txIdle {
		h.rawEnd = true
	}
}

// close ends the work's use of the connection and reports whether a call is still running on it.
func (h *hold) close() (running bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = make(chan struct{})
	return h.running > 0
}

// verdict says why nothing can be saved on a connection that the work has left.
func (h *hold) verdict() error {
	switch {
	case h.conn == nil:
		return nil
	case h.conn.IsClosed():
		return errLost
	case h.conn.PgConn().IsBusy():
		return errRows
	}
	h.look()
	switch {
	case h.rawEnd:
		return errRawEnd
	case h.conn.PgConn().TxStatus() == txFailed:
		return errAborted
	}
	return nil
}

// cut breaks a connection that is in use: under a running call only that may touch its state. The server is asked to stop
// first: it would not notice the cut before its statement's end, and hold the claim until then.
func (h *hold) cut(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cutTimeout)
	defer cancel()
	_ = h.conn.PgConn().CancelRequest(ctx)
	_ = h.conn.PgConn().Conn().Close()
}

// tx is what a work gets: a transaction that it cannot end, or a savepoint in it.
type tx struct {
	inner     pgx.Tx
	hold      *hold
	savepoint bool
}

var _ pgx.Tx = (*tx)(nil)

// Begin gives a savepoint.
func (t *tx) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := t.hold.enter(); err != nil {
		return nil, err
	}
	inner, err := t.inner.Begin(ctx)
	if err := t.hold.leave(err); err != nil {
		return nil, err
	}
	return &tx{inner: inner, hold: t.hold, savepoint: true}, nil
}

// Commit releases a savepoint; the transaction itself is not the work's to commit.
func (t *tx) Commit(ctx context.Context) error { return t.end(ctx, t.inner.Commit) }

// Rollback rolls back to a savepoint; the transaction itself is not the work's to roll back.
func (t *tx) Rollback(ctx context.Context) error { return t.end(ctx, t.inner.Rollback) }

func (t *tx) end(ctx context.Context, end func(context.Context) error) error {
	if !t.savepoint {
		return errNotYour
	}
	if err := t.hold.enter(); err != nil {
		return err
	}
	return t.hold.leave(end(ctx))
}

func (t *tx) Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error) {
	if err := t.hold.enter(); err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := t.inner.Exec(ctx, sql, arguments...)
	t.hold.note(tag)
	return tag, t.hold.leave(err)
}

func (t *tx) Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error) {
	if err := t.hold.enter(); err != nil {
		return failed(err)
	}
	rows, err := t.inner.Query(ctx, sql, arguments...)
	if err := t.hold.leave(err); err != nil {
		rows.Close()
		return failed(err)
	}
	return rows, nil
}

func (t *tx) QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row {
	rows, _ := t.Query(ctx, sql, arguments...) // an error is the rows' too
	return &row{rows: rows, hold: t.hold}
}

func (t *tx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, source pgx.CopyFromSource) (int64, error) {
	if err := t.hold.enter(); err != nil {
		return 0, err
	}
	n, err := t.inner.CopyFrom(ctx, table, columns, source)
	return n, t.hold.leave(err)
}

func (t *tx) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	if err := t.hold.enter(); err != nil {
		return pgx.FailedBatchResults(batch, err)
	}
	results := t.inner.SendBatch(ctx, batch)
	_ = t.hold.leave(nil) // what the batch did to the transaction shows when it has been read
	return results
}

func (t *tx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := t.hold.enter(); err != nil {
		return nil, err
	}
	statement, err := t.inner.Prepare(ctx, name, sql)
	return statement, t.hold.leave(err)
}

// LargeObjects gives access past the guard: not to be used once the work has returned.
func (t *tx) LargeObjects() pgx.LargeObjects { return t.inner.LargeObjects() }

// Conn gives access past the guard, for a type map or a notice: a commit through it is caught when the record is to be
// saved, but what is sent through it after the work has returned meets the connection's next user.
func (t *tx) Conn() *pgx.Conn { return t.inner.Conn() }

// failed gives rows that hold err.
func failed(err error) (pgx.Rows, error) { return pgx.FailedBatchResults(&pgx.Batch{}, err).Query() }

// row is pgx's own QueryRow, with an eye on what the statement did.
type row struct {
	rows pgx.Rows
	hold *hold
}

// Scan implements pgx.Row.
func (r *row) Scan(dest ...any) error {
	defer r.rows.Close()
	for _, d := range dest {
		if _, ok := d.(*pgtype.DriverBytes); ok {
			return errors.New("cannot scan into *pgtype.DriverBytes from QueryRow") // they end with the rows
		}
	}
	if !r.rows.Next() {
		return cmp.Or(r.rows.Err(), pgx.ErrNoRows)
	}
	err := r.rows.Scan(dest...)
	r.rows.Close()
	if err = cmp.Or(r.rows.Err(), err); err == nil {
		r.hold.note(r.rows.CommandTag())
	}
	return err
}
