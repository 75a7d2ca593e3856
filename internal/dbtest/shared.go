package dbtest

import (
	"os"
	"sync"
	"testing"
)

// shared holds the one server that all tests of this process use, from the first that asks for it.
var shared struct {
	sync.Mutex
	postgres *Postgres
	err      error
}

// Shared returns the server that all tests of this process share; the first call starts it. A test that stops or pauses a server
// starts its own with [StartPostgres].
func Shared(tb testing.TB) *Postgres {
	tb.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.postgres == nil && shared.err == nil {
		shared.postgres, shared.err = NewPostgres(PostgresOptions{})
	}
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.postgres
}

// Database makes an empty database for this test on the shared server and returns its URL, postgres://…. It is dropped with the test.
func Database(tb testing.TB) string {
	tb.Helper()
	return Shared(tb).Database(tb)
}

// Main is the TestMain of a package that uses [Shared] or [Database]: it runs the tests, ends the shared server, removes its data and
// calls last, which removes what the package made for all its tests. Without it the server ends all the same, with the process, and
// its data go when another test process starts a server.
func Main(m *testing.M, last ...func()) {
	code := m.Run()
	shared.Lock()
	if shared.postgres != nil {
		_ = shared.postgres.Close()
	}
	removeHomes()
	for _, f := range last {
		f()
	}
	os.Exit(code)
}
