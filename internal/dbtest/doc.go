// Package dbtest gives tests real database servers of their own, and a network that fails on demand.
//
// A server started here listens on loopback only, runs as an unprivileged user, keeps its data in a directory of its own and
// dies with the process that started it. Nothing is skipped when a server is not installed: the test fails and says what to do.
//
//	func TestMain(m *testing.M) { dbtest.Main(m) }
//
//	func TestOrders(t *testing.T) {
//		t.Parallel()
//		url := dbtest.Database(t) // postgres://…, empty, gone when the test ends
//	}
//
// [Database] and [MariaDBDatabase] are what most tests want: a database of their own on a server that the whole test process shares.
// [StartPostgres], [StartMariaDB] and [StartRedis] are for tests that crash or pause their server, [StartPgBouncer] puts a pooler
// before one, [NewProxy] is for tests that cut the network.
//
// The package uses the standard library only, so that it costs the root module no dependency. It is made for Linux; on other
// systems servers run too, but outlive a test process that is killed.
package dbtest
