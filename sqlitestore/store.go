package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// Store is an onceward.Store on one SQLite file, for concurrent use.
type Store struct {
	path    string // absolute
	options Options
	queue   queue
	claims  claims

	writerPool *sql.DB // of one connection
	writer     *writer // belongs to who has the turn; nil after a failure, until the next turn
	records    *sql.DB // reads records; apart from the application's, which may be used up
	find       atomic.Pointer[sql.Stmt]
	reader     *sql.DB
	closeOnce  func() error
}

var _ onceward.Store[sqlstore.Tx] = (*Store)(nil)

// Open opens the SQLite file at path, makes it if it is not there, and puts it in WAL mode. Close it in the end.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Store{options: o, queue: queue{lengthMax: o.QueueMax}}
	s.closeOnce = sync.OnceValue(s.close)
	if err := s.openPools(path); err != nil {
		return nil, err
	}
	if err := s.take(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlitestore: open %s: %w", path, reasonOf(err, path)), s.closePools())
	}
	defer s.queue.give()
	if err := s.writer.writable(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlitestore: open %s: %w", path, err), s.writer.close(), s.closePools())
	}
	return s, nil
}

// reasonOf adds to SQLite's one word for all that keeps a file from being opened what can be seen from outside. Nothing is
// opened: to close another descriptor of a file that this process has open would take its locks away.
func reasonOf(err error, path string) error {
	if codeOf(err) != lib.SQLITE_CANTOPEN {
		return err
	}
	folder := filepath.Dir(path)
	why := "the permission for it is lacking, or for its directory"
	if info, lost := os.Stat(folder); lost != nil {
		why = "there is no directory " + folder
	} else if !info.IsDir() {
		why = folder + " is no directory"
	} else if info, lost := os.Stat(path); lost == nil && info.IsDir() {
		why = "it is a directory"
	}
	return fmt.Errorf("%s: %w", why, err)
}

func (s *Store) openPools(path string) error {
	write, err := connector(path, s.options)
	if err != nil {
		return err
	}
	read, err := connector(path, s.options, "mode=rw", "_query_only=1") // never makes the file
	if err != nil {
		return err
	}
	if s.path, err = filepath.Abs(path); err != nil {
		return err
	}
	s.writerPool, s.records = sql.OpenDB(write), sql.OpenDB(read)
	s.reader = sql.OpenDB(readConnector{read, s.options.ReadTimeout})
	s.writerPool.SetMaxOpenConns(1)
	for _, pool := range []*sql.DB{s.records, s.reader} {
		pool.SetMaxOpenConns(s.options.Readers)
		pool.SetMaxIdleConns(s.options.Readers)
	}
	return nil
}

// Reader is a pool for the application's own reads: it cannot write. What reads longer than Options.ReadTimeout, rows that
// stay open included, ends with ErrReadTimeout; only a transaction that is begun by a BEGIN sent as SQL is not bounded.
func (s *Store) Reader() *sql.DB { return s.reader }

// Close refuses new attempts, waits for the one that runs, at most Options.WorkTimeout, and closes the file. Further calls
// return what the first did.
func (s *Store) Close() error { return s.closeOnce() }

func (s *Store) close() error {
	if !s.queue.close(s.options.WorkTimeout) {
		return fmt.Errorf("sqlitestore: Close: an attempt has not ended within %v", s.options.WorkTimeout)
	}
	var err error
	if s.writer != nil {
		err = s.writer.close()
		s.writer = nil
	}
	return errors.Join(err, s.closePools())
}

func (s *Store) closePools() error {
	return errors.Join(s.writerPool.Close(), s.records.Close(), s.reader.Close())
}

// take waits for the turn and sees to it that there is a writer. Whoever it gives nil calls queue.give.
func (s *Store) take(ctx context.Context) error {
	if err := s.queue.take(ctx, s.options.QueueTimeout); err != nil {
		return err
	}
	if s.writer != nil && !s.writer.broken {
		return nil
	}
	if s.writer != nil {
		_ = s.writer.close()
	}
	var err error
	if s.writer, err = openWriter(ctx, s.writerPool, s.path, s.options); err != nil {
		s.queue.give()
	}
	return err
}

// transaction runs f in a transaction of the store's own, in turn.
func (s *Store) transaction(ctx context.Context, f func(w *writer) error) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.queue.give()
	if err := s.writer.begin(ctx); err != nil {
		return err
	}
	if err := f(s.writer); err != nil {
		s.writer.rollback()
		return explain(err)
	}
	return s.writer.commit()
}

// milliseconds rounds up: no record lives shorter than it was asked to.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
