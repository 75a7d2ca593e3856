package sqlitestore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

const (
	insertSQL = "INSERT INTO main." + table + " (" + sqlstore.Columns + ", created_at, expires_at, kept_until) " +
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, " + now + ", " + now + " + ?13, " + now + " + ?14) " +
		"ON CONFLICT (id) DO NOTHING"

	// The rule about expired records is in the statement, so that it holds at the save's time.
	removeSQL = "DELETE FROM main." + table + " WHERE id = ?1 AND expires_at + ?2 <= " + now
)

// attempt is one transaction of the writer.
type attempt struct {
	store    *Store
	writer   *writer
	session  *session
	tx       *workTx
	want     onceward.Record
	replaces bool  // an expired record was read
	changes  int64 // total_changes at the claim
	ended    bool
}

// Tx implements onceward.Attempt.
func (a *attempt) Tx() sqlstore.Tx { return a.tx }

// Save implements onceward.Attempt.
func (a *attempt) Save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	if a.ended {
		return false, onceward.ErrTxEnded
	}
	defer a.release()
	a.session.end(ctx, a.tx)
	if err := cmp.Or(a.session.verdict(), ctx.Err()); err != nil {
		a.writer.rollback()
		return false, err
	}
	ctx = context.WithoutCancel(ctx) // from here on only the disk can take long, and no context interrupts that
	var changes int64
	err = a.writer.row(ctx, "SELECT total_changes()").Scan(&changes)
	if err == nil {
		err = insert(ctx, a.writer, a.want.Saved(o), a.replaces)
	}
	if err != nil {
		a.writer.rollback()
		return false, explain(err)
	}
	return changes == a.changes, a.writer.commit()
}

// Rollback implements onceward.Attempt.
func (a *attempt) Rollback(ctx context.Context) error {
	if a.ended {
		return nil
	}
	defer a.release()
	a.session.cancel()
	a.session.end(ctx, a.tx)
	a.writer.rollback()
	if a.writer.broken {
		return fmt.Errorf("%w: the SQLite connection could not roll back and is closed", onceward.ErrUnavailable)
	}
	return nil
}

// release lets the next one have the turn.
func (a *attempt) release() {
	a.ended = true
	a.session.cancel()
	a.store.queue.give()
	for _, id := range append(a.session.joined, a.want.ID) {
		a.store.claims.give(id)
	}
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// insert saves record, in the place of an expired one where replaces says that there is one.
func insert(ctx context.Context, x execer, record *onceward.Record, replaces bool) error {
	if replaces {
		if _, err := x.ExecContext(ctx, removeSQL, record.ID[:], milliseconds(record.Keep)); err != nil {
			return err
		}
	}
	args := append(sqlstore.Values(record), milliseconds(record.Life), milliseconds(record.Life+record.Keep))
	result, err := x.ExecContext(ctx, insertSQL, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return onceward.ErrTaken
	}
	return nil
}
