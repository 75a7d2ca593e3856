// Package oncetest is for a service's own tests: [Crash] kills it at every point of one request and looks whether a retry still
// makes one effect.
//
// # Where the process is killed
//
// The handler runs in a process of its own, which is the test's binary once more. It is killed, started anew and sent the same
// request again, for each point that it passes on its way, and after its answer. Nothing of the handler is changed for it, so a
// handler is seen with all that it does on its own account:
//
//   - PostgreSQL, MariaDB: before each message to the server, with a COMMIT while the server carries it out, and after the server's
//     answer, which the process never gets. They are read off the wire between the two.
//   - SQLite: before each page that is written to the file's log (the kernel kills the process there), which is before, in and
//     after every commit. Between statements SQLite has written nothing, so that a death there is one before the commit.
//
// An effect that is not in the database is seen if Plan.Effects counts it; on SQLite only if it happens before the last commit.
// Where two requests differ in what they send to the database for reasons of their own, a point may be missed or met twice.
//
// It needs a Unix with signals; SQLite needs Linux, and a file in WAL mode. Connections to a server must not be encrypted, since
// they are read: the URL must allow that.
package oncetest
