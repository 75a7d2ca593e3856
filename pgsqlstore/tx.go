package pgsqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/onceward/onceward/sqlstore"
)

// session watches over the statements of one attempt's work: one that would end the transaction is refused, and one that
// does not come back can be stopped.
type session struct {
	guard   *sqlstore.Guard // what the work is given
	running atomic.Int64    // statements of the work

	ctx  context.Context // ends when they have to
	stop context.CancelFunc

	mu   sync.Mutex
	last context.Context // of a statement
	both context.Context // last, but ends with ctx
}

func newSession(tx sqlstore.Tx) *session {
	s := &session{}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.guard = sqlstore.NewGuard(tx, sqlstore.Hooks{Before: s.before, After: s.after})
	return s
}

func (s *session) before(ctx context.Context, query string) (context.Context, error) {
	if endsTransaction(query) {
		return nil, errNotYour
	}
	s.running.Add(1)
	return s.stoppable(ctx), nil
}

func (s *session) after(err error) error {
	s.running.Add(-1)
	return err
}

// stoppable is ctx, but ends with the session too. A work has one context for most of its statements, which needs this
// once; what is made for another context goes with it.
func (s *session) stoppable(ctx context.Context) context.Context {
	known := reflect.ValueOf(ctx).Comparable() // a context is any type
	s.mu.Lock()
	defer s.mu.Unlock()
	if known && ctx == s.last {
		return s.both
	}
	both, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(s.ctx, cancel)
	context.AfterFunc(both, func() { forget() })
	if known {
		s.last, s.both = ctx, both
	}
	return both
}

// end takes the transaction back from the work, and reports whether a statement of it was still running: of a goroutine
// that the work did not wait for. Such a statement is stopped at once, or when ctx ends.
func (s *session) end(ctx context.Context, atOnce bool) (running bool) {
	defer s.stop()
	if running = s.running.Load() > 0; running && atOnce {
		s.stop()
	}
	defer context.AfterFunc(ctx, s.stop)()
	s.guard.End(errOver)
	return running
}

// discard closes a connection instead of giving it back to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}
