package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// workTx is what a work gets.
type workTx struct {
	*sqlstore.Guard
	session *session // nil inside a transaction that the caller owns
}

// session is one transaction of the writer, for the works in it: the attempt's, and those that join it.
type session struct {
	store  *Store
	writer *writer
	cancel context.CancelFunc
	hard   context.Context // ends after Options.WorkTimeout
	until  time.Time

	mu     sync.Mutex
	within context.Context // hard, but until the deadline that the last statement's context had
	cause  error           // the error of the statement in which the transaction was lost
	joined []onceward.ID   // claims that are free again when the transaction ends
}

func newSession(s *Store, w *writer) *session {
	until := time.Now().Add(s.options.WorkTimeout)
	hard, cancel := context.WithDeadline(context.Background(), until)
	return &session{store: s, writer: w, cancel: cancel, hard: hard, until: until, within: hard}
}

func (s *session) guard() *workTx {
	return &workTx{session: s, Guard: sqlstore.NewGuard(s.writer.conn, sqlstore.Hooks{Before: s.before, After: s.after})}
}

// before gives a statement its context: one that ends with ctx's deadline, or with the session's, but not when ctx is
// cancelled (see the package's comment).
func (s *session) before(ctx context.Context, _ string) (context.Context, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.writer.lost.Load() {
		return nil, s.verdict()
	}
	deadline, ok := ctx.Deadline()
	if !ok || !deadline.Before(s.until) {
		return s.hard, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, _ := s.within.Deadline(); !last.Equal(deadline) {
		within, cancel := context.WithDeadline(s.hard, deadline)
		context.AfterFunc(s.hard, cancel)
		s.within = within
	}
	return s.within, nil
}

// after explains a statement's error to the work, and keeps the one that cost the transaction.
func (s *session) after(err error) error {
	if err == nil {
		return nil
	}
	if denied := s.writer.denied.Load(); denied != nil && codeOf(err) == lib.SQLITE_AUTH {
		err = denied.wrap(err)
	}
	err = explain(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil && s.writer.lost.Load() {
		s.cause = err
	}
	return err
}

// verdict is nil if the transaction is still the one that the store began. If it is not, SQLite has rolled it back:
// because the work's SQL said so, which is ErrTxEnded, or for want of room or time, which the work may have overlooked.
func (s *session) verdict() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.writer.lost.Load():
		return nil
	case s.cause == nil:
		return onceward.ErrTxEnded
	case errors.Is(s.cause, onceward.ErrUnavailable), isContextError(s.cause):
		return fmt.Errorf("sqlitestore: the transaction was rolled back in the work: %w", s.cause)
	}
	return fmt.Errorf("%w: %w", onceward.ErrTxEnded, s.cause)
}

// alone runs f as the store inside the transaction, while no statement of tx's work runs.
func (s *session) alone(tx *workTx, f func() error) error {
	return tx.Alone(func(sqlstore.Tx) error {
		if err := s.verdict(); err != nil {
			return err
		}
		s.writer.working.Store(false)
		defer s.writer.working.Store(true)
		return f()
	})
}

// keepClaim holds id until the transaction ends.
func (s *session) keepClaim(id onceward.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined = append(s.joined, id)
}

func (s *session) owns(id onceward.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.joined, id)
}

// end ends what works may do in the transaction. Statements that still run, of a goroutine that outlives its work, are
// waited for until ctx ends, and then interrupted.
func (s *session) end(ctx context.Context, tx *workTx) {
	stop := context.AfterFunc(ctx, s.cancel)
	defer stop()
	tx.End(onceward.ErrTxEnded)
	s.writer.working.Store(false)
}

var errOtherStore = errors.New("sqlitestore: the transaction is that of a work of another store")
