package mysqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// workTx is what a work gets.
type workTx struct {
	*sqlstore.Guard
	session *session
}

// QueryContext implements sqlstore.Tx. An error that comes in the middle of the rows is seen by their reader alone, so that
// what may have failed there is looked at before the next statement.
func (t *workTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	rows, err := t.Guard.QueryContext(ctx, query, args...)
	if err == nil && mayLock(query) {
		t.session.suspect()
	}
	return rows, err
}

// session watches over the statements of a work in a transaction that holds a claim. The driver does not tell whether a
// connection is still in a transaction, and a statement that is sent when it is not commits by itself. So a statement that
// would end the transaction is refused by its first word. One that might (a procedure, several statements in one text) is
// sent behind a savepoint, which does not outlive the transaction. And after an error, which may be that of a deadlock, the
// claim is looked for, which does not either.
type session struct {
	inner sqlstore.Tx // the transaction itself
	want  *onceward.Record
	mark  string // the savepoint's name

	hard   context.Context // ends when no statement may run any more
	cancel context.CancelFunc

	mu     sync.Mutex
	within context.Context // hard, but until the deadline that the last statement's context had
	marked bool            // the savepoint is set
	look   bool            // the claim is to be looked for
	lost   error           // why nothing can be saved
	wrote  bool            // a statement that may have written was sent
}

func newSession(inner sqlstore.Tx, want *onceward.Record) *session {
	hard, cancel := context.WithCancel(context.Background())
	return &session{
		inner: inner, want: want, mark: savepointPrefix + hex.EncodeToString(want.Attempt[:]),
		hard: hard, cancel: cancel, within: hard,
	}
}

const savepointPrefix = "onceward_"

func (s *session) guard() *workTx {
	return &workTx{session: s, Guard: sqlstore.NewGuard(s.inner, sqlstore.Hooks{Before: s.before, After: s.after})}
}

// before refuses or prepares a statement and gives it its context: one that ends with ctx's deadline or with the session,
// but not when ctx is cancelled. The driver would break the connection, under a server that goes on with the statement all
// the same; so a caller who hangs up is noticed before the next one.
func (s *session) before(ctx context.Context, query string) (context.Context, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	within := statementContext{s.until(ctx), ctx}
	if err := s.verify(within); err != nil {
		return nil, err
	}
	switch kind, word := kindOf(query); kind {
	case ends:
		return nil, fmt.Errorf("%w: %s would end it or commit it: return nil to commit, an error to roll back", onceward.ErrTxEnded, word)
	case mayEnd:
		s.wrote = true
		if _, err := s.inner.ExecContext(within, "SAVEPOINT "+s.mark); err != nil {
			return nil, s.rolledBack(err)
		}
		s.marked = true
	case writes:
		s.wrote = true
	}
	return within, nil
}

// until is hard, but no longer than ctx's deadline. Consecutive statements mostly have the same.
func (s *session) until(ctx context.Context) context.Context {
	deadline, ok := ctx.Deadline()
	if !ok {
		return s.hard
	}
	if last, _ := s.within.Deadline(); !last.Equal(deadline) {
		within, cancel := context.WithDeadline(s.hard, deadline)
		context.AfterFunc(s.hard, cancel)
		s.within = within
	}
	return s.within
}

// statementContext has the end of one context and the values of another.
type statementContext struct {
	context.Context
	values context.Context
}

// Value implements context.Context.
func (c statementContext) Value(key any) any { return c.values.Value(key) }

// verify looks whether the transaction is still the one that holds the claim, where that is in doubt.
func (s *session) verify(ctx context.Context) error {
	if s.lost != nil {
		return s.lost
	}
	if s.marked {
		_, err := s.inner.ExecContext(ctx, "RELEASE SAVEPOINT "+s.mark)
		if numberOf(err) == codeNoSavepoint {
			s.lost = errRawEnd
			return errors.Join(s.lost, err)
		}
		if err != nil {
			return s.rolledBack(err)
		}
		s.marked, s.look = false, false
	}
	if s.look {
		var one int
		err := s.inner.QueryRowContext(ctx, selectClaim(s.want)).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			s.lost = errRolledBack
			err = s.lost
		}
		if err != nil {
			return s.rolledBack(err)
		}
		s.look = false
	}
	return nil
}

// suspect has the claim looked for before the next statement.
func (s *session) suspect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look = true
}

// after says what a statement's error means, and keeps the one that cost the transaction.
func (s *session) after(err error) error {
	if err == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look = true
	if numberOf(err) == codeLockTimeout {
		return fmt.Errorf("%w: another transaction holds a lock: %w", onceward.ErrUnavailable, err)
	}
	return s.rolledBack(err)
}

// rolledBack keeps an error that cost the transaction: of a deadlock, or of another node of a cluster, which may be told to
// any statement.
func (s *session) rolledBack(err error) error {
	if numberOf(err) != codeDeadlock {
		return err
	}
	s.lost = fmt.Errorf("%w: %w", errRolledBack, err)
	return s.lost
}

// end ends what the work may do in the transaction and says why nothing can be saved in it, if so. Statements that still
// run, of a goroutine that outlives its work, are waited for until ctx ends, and then cut off.
func (s *session) end(ctx context.Context, tx *workTx) error {
	stop := context.AfterFunc(ctx, s.cancel)
	tx.End(errOver)
	stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.verify(ctx)
	s.cancel()
	if err != nil && numberOf(err) == 0 && !errors.Is(err, onceward.ErrTxEnded) && !errors.Is(err, onceward.ErrNotCommitted) {
		err = fmt.Errorf("%w: %w", errLost, err)
	}
	return err
}
