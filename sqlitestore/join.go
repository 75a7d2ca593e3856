package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// joined is an attempt inside a transaction that the caller owns: a savepoint of it.
type joined struct {
	scope    scope
	tx       *workTx
	want     onceward.Record
	name     string // of the savepoint
	replaces bool
	changes  int64
	ended    bool
}

// scope is the transaction that is joined.
type scope interface {
	// guard makes what the joining work gets.
	guard() *workTx
	// alone runs f as the store, on the transaction itself.
	alone(f func(x executor) error) error
	// context is what the store's statements run under.
	context(ctx context.Context) (context.Context, error)
	// owns reports whether the claim of id was won in this transaction before.
	owns(id onceward.ID) bool
	// give gives the claim of id up: at once, or if the record was saved when the transaction ends, where that is seen.
	give(id onceward.ID, saved bool)
}

// executor runs the store's own statements.
type executor interface {
	execer
	row(ctx context.Context, query string, args ...any) scanner
	// plain runs a statement that is not worth preparing.
	plain(ctx context.Context, statement string) error
}

// Join implements onceward.Store. The transaction is that of a work of this store, or the caller's own on this file, a
// *sql.Tx for example, whatever its driver: the main database of its connection has to be the file. There the store
// cannot keep the work from ending the transaction by raw SQL, but sees it, and answers ErrTxEnded.
//
// It takes SQLite's lock for writing first, so that what it reads is the latest. On a connection of the caller's that
// has read before, and on whose file others have written since, SQLite refuses that: it is ErrUnavailable, and the
// caller begins its transaction again (with BEGIN IMMEDIATE it does not happen).
func (s *Store) Join(ctx context.Context, tx sqlstore.Tx, want *onceward.Record) (onceward.Attempt[sqlstore.Tx], *onceward.Record, error) {
	in, err := s.scope(tx)
	if err != nil {
		return nil, nil, err
	}
	if s.claims.holds(want.ID) && !in.owns(want.ID) {
		return nil, nil, onceward.ErrInFlight
	}
	if ctx, err = in.context(ctx); err != nil {
		return nil, nil, err
	}
	j := &joined{scope: in, want: *want, name: savepointPrefix + hex.EncodeToString(want.Attempt[:])}
	var record *onceward.Record
	err = in.alone(func(x executor) (err error) {
		record, err = j.begin(ctx, s, x)
		return err
	})
	if err != nil || record != nil {
		return nil, record, explain(err)
	}
	j.tx = in.guard()
	return j, nil, nil
}

func (s *Store) scope(tx sqlstore.Tx) (scope, error) {
	switch tx := tx.(type) {
	case *workTx:
		if tx.session == nil {
			return foreign{store: s, tx: tx.Guard}, nil
		}
		if tx.session.store != s {
			return nil, errOtherStore
		}
		return inWork{session: tx.session, tx: tx}, nil
	case *sql.DB:
		return nil, errors.New("sqlitestore: Join needs a transaction, not a pool: each statement would go to another connection")
	}
	return foreign{store: s, tx: tx}, nil
}

// begin sets the savepoint, takes the lock, and reads: a record in the way ends the part again.
func (j *joined) begin(ctx context.Context, s *Store, x executor) (*onceward.Record, error) {
	for _, name := range []string{j.name, j.alive()} {
		if err := x.plain(ctx, "SAVEPOINT "+name); err != nil {
			return nil, err
		}
	}
	record, err := j.read(ctx, x)
	if err == nil && (record == nil || !record.InTheWay(&j.want)) {
		j.replaces = record != nil
		if s.claims.take(j.want.ID) == nil {
			return nil, nil
		}
		record, err = nil, onceward.ErrInFlight
	}
	return record, errors.Join(err, j.undo(ctx, x))
}

func (j *joined) read(ctx context.Context, x executor) (*onceward.Record, error) {
	// A statement that could write takes the lock, whether it finds a row or not.
	if _, err := x.ExecContext(ctx, "DELETE FROM main."+table+" WHERE 0"); err != nil {
		return nil, err
	}
	if err := x.row(ctx, "SELECT total_changes()").Scan(&j.changes); err != nil {
		return nil, err
	}
	return found(sqlstore.Scan(x.row(ctx, findSQL, j.want.ID[:])))(&j.want)
}

func (j *joined) undo(ctx context.Context, x executor) error {
	return errors.Join(j.savepoint(ctx, x, "ROLLBACK TO "+j.name), j.savepoint(ctx, x, "RELEASE "+j.name))
}

// alive is a second savepoint, inside the first. To release it tells whether the transaction is still the caller's,
// before anything is saved that SQLite would commit by itself if it were not.
func (j *joined) alive() string { return j.name + "_alive" }

// savepoint sends a statement about a savepoint. That it is gone means that the work ended the transaction.
func (j *joined) savepoint(ctx context.Context, x executor, statement string) error {
	if err := x.plain(ctx, statement); err != nil {
		return fmt.Errorf("%w: %w", onceward.ErrTxEnded, err)
	}
	return nil
}

// Tx implements onceward.Attempt.
func (j *joined) Tx() sqlstore.Tx { return j.tx }

// Save implements onceward.Attempt: the record stands if and only if the caller's transaction commits.
func (j *joined) Save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	if j.ended {
		return false, onceward.ErrTxEnded
	}
	j.close()
	defer func() { j.scope.give(j.want.ID, err == nil) }()
	if ctx, err = j.scope.context(ctx); err != nil {
		return false, err
	}
	err = j.scope.alone(func(x executor) (err error) {
		if err = j.savepoint(ctx, x, "RELEASE "+j.alive()); err != nil {
			return err
		}
		if untouched, err = j.save(ctx, x, o); err != nil {
			return errors.Join(err, j.undo(ctx, x))
		}
		return j.savepoint(ctx, x, "RELEASE "+j.name)
	})
	return untouched && err == nil, explain(err)
}

func (j *joined) save(ctx context.Context, x executor, o onceward.Outcome) (untouched bool, _ error) {
	var changes int64
	if err := x.row(ctx, "SELECT total_changes()").Scan(&changes); err != nil {
		return false, err
	}
	return changes == j.changes, insert(ctx, x, j.want.Saved(o), j.replaces)
}

// Rollback implements onceward.Attempt.
func (j *joined) Rollback(ctx context.Context) error {
	if j.ended {
		return nil
	}
	j.close()
	defer j.scope.give(j.want.ID, false)
	ctx, err := j.scope.context(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	return explain(j.scope.alone(func(x executor) error { return j.undo(ctx, x) }))
}

func (j *joined) close() {
	j.ended = true
	j.tx.End(onceward.ErrTxEnded)
}

// inWork is the transaction of a work of this store.
type inWork struct {
	session *session
	tx      *workTx
}

func (w inWork) guard() *workTx { return w.session.guard() }

func (w inWork) context(ctx context.Context) (context.Context, error) {
	return w.session.before(ctx, "")
}

func (w inWork) alone(f func(x executor) error) error {
	return w.session.alone(w.tx, func() error { return f(w.session.writer) })
}

func (w inWork) owns(id onceward.ID) bool { return w.session.owns(id) }

func (w inWork) give(id onceward.ID, saved bool) {
	if saved {
		w.session.keepClaim(id)
		return
	}
	w.session.store.claims.give(id)
}

// foreign is a transaction on a connection of the caller's.
type foreign struct {
	store *Store
	tx    sqlstore.Tx
}

func (f foreign) guard() *workTx {
	return &workTx{Guard: sqlstore.NewGuard(f.tx, sqlstore.Hooks{After: explain})}
}

func (f foreign) context(ctx context.Context) (context.Context, error) { return ctx, nil }
func (f foreign) alone(run func(x executor) error) error               { return run(onTx{f.tx}) }
func (f foreign) owns(onceward.ID) bool                                { return false }
func (f foreign) give(id onceward.ID, _ bool)                          { f.store.claims.give(id) }

// onTx runs the store's own statements on a transaction of the caller's.
type onTx struct{ sqlstore.Tx }

func (t onTx) row(ctx context.Context, query string, args ...any) scanner {
	return t.QueryRowContext(ctx, query, args...)
}

func (t onTx) plain(ctx context.Context, statement string) error {
	_, err := t.ExecContext(ctx, statement)
	return err
}
