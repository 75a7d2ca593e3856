package pgxstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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

// look notices that the connection is in no transaction any more. A statement sent now would be its own transaction.
func (h *hold) look() {
	if h.conn != nil && !h.conn.IsClosed() && h.conn.PgConn().TxStatus() == txIdle {
		h.rawEnd = true
	}
}

// release ends the work's use of the connection and says why nothing can be saved on it, if so.
func (h *hold) release(ctx context.Context) error {
	h.mu.Lock()
	h.over = make(chan struct{})
	running := h.running > 0
	h.mu.Unlock()
	if running {
		h.cut(ctx)
		<-h.over // every call fails at once on a closed connection
		return errRunning
	}
	return h.verdict()
}

func (h *hold) verdict() error {
	if h.conn == nil {
		return nil
	}
	if h.conn.IsClosed() {
		return pgconn.ErrConnClosed
	}
	if h.conn.PgConn().IsBusy() {
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

// cut breaks the connection under a call that is using it, which alone may touch its state. The server is asked to stop
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
	return tag, t.hold.leave(err)
}

func (t *tx) Query(ctx context.Context, sql string, arguments ...any) (pgx.Rows, error) {
	if err := t.hold.enter(); err != nil {
		return failed(err).Query()
	}
	rows, err := t.inner.Query(ctx, sql, arguments...)
	return rows, t.hold.leave(err)
}

func (t *tx) QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row {
	if err := t.hold.enter(); err != nil {
		return failed(err).QueryRow()
	}
	row := t.inner.QueryRow(ctx, sql, arguments...)
	if err := t.hold.leave(nil); err != nil {
		return failed(err).QueryRow()
	}
	return row
}

func (t *tx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if err := t.hold.enter(); err != nil {
		return 0, err
	}
	n, err := t.inner.CopyFrom(ctx, table, columns, rows)
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

// failed gives a Row or Rows that holds err.
func failed(err error) pgx.BatchResults { return pgx.FailedBatchResults(&pgx.Batch{}, err) }
