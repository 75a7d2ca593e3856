package dbtest

import (
	"os"
	"sync"
	"testing"
)

// sharedServer is one server that all tests of this process use, from the first that asks for it.
type sharedServer[S interface{ Close() error }] struct {
	mu      sync.Mutex
	server  S
	started bool
	err     error
}

var (
	sharedPostgres sharedServer[*Postgres]
	sharedMariaDB  sharedServer[*MariaDB]
)

func (s *sharedServer[S]) get(tb testing.TB, start func() (S, error)) S {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		s.started = true
		s.server, s.err = start()
	}
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.server
}

func (s *sharedServer[S]) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started && s.err == nil {
		_ = s.server.Close()
	}
}

// Shared returns the PostgreSQL server that all tests of this process share; the first call starts it. A test that stops or
// pauses a server starts its own with [StartPostgres].
func Shared(tb testing.TB) *Postgres {
	tb.Helper()
	return sharedPostgres.get(tb, func() (*Postgres, error) { return NewPostgres(PostgresOptions{}) })
}

// SharedMariaDB is Shared for MariaDB.
func SharedMariaDB(tb testing.TB) *MariaDB {
	tb.Helper()
	return sharedMariaDB.get(tb, func() (*MariaDB, error) { return NewMariaDB(MariaDBOptions{}) })
}

// Database makes an empty database for this test on the shared PostgreSQL server and returns its URL, postgres://…. It is dropped
// with the test.
func Database(tb testing.TB) string {
	tb.Helper()
	return Shared(tb).Database(tb)
}

// MariaDBDatabase is Database for MariaDB: mysql://….
func MariaDBDatabase(tb testing.TB) string {
	tb.Helper()
	return SharedMariaDB(tb).Database(tb)
}

// Main is the TestMain of a package that uses a shared server: it runs the tests, ends the shared servers, removes their data and
// calls last, which removes what the package made for all its tests. Without it the servers end all the same, with the process,
// and their data go when another test process starts a server.
func Main(m *testing.M, last ...func()) {
	code := m.Run()
	sharedPostgres.close()
	sharedMariaDB.close()
	removeHomes()
	for _, f := range last {
		f()
	}
	os.Exit(code)
}
