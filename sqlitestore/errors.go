package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/onceward/onceward"
)

// ErrReadTimeout ends the rows and transactions of Reader that took longer than Options.ReadTimeout.
var ErrReadTimeout = errors.New("sqlitestore: the read took longer than Options.ReadTimeout")

var errClosed = fmt.Errorf("%w: the SQLite store is closed", onceward.ErrUnavailable)

// codeOf is SQLite's primary result code of err; 0 where err is not SQLite's.
func codeOf(err error) int {
	if failure := (*sqlite.Error)(nil); errors.As(err, &failure) {
		return failure.Code() & 0xff
	}
	return 0
}

// explain wraps what the database could not do for want of a lock, of room or of its disk in ErrUnavailable. SQLite's
// texts name tables and columns, never values.
func explain(err error) error {
	if err == nil || errors.Is(err, onceward.ErrUnavailable) {
		return err
	}
	switch codeOf(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_NOMEM,
		lib.SQLITE_PROTOCOL, lib.SQLITE_READONLY:
		return fmt.Errorf("%w: %w", onceward.ErrUnavailable, err)
	case lib.SQLITE_ERROR:
		if strings.Contains(err.Error(), "no such table: main."+table) || strings.Contains(err.Error(), "no such column: ") {
			return fmt.Errorf("%w: %w", onceward.ErrSchema, err)
		}
	}
	if err.Error() == "sql: database is closed" { // database/sql has no name for it
		return errClosed
	}
	if errors.Is(err, driver.ErrBadConn) {
		return fmt.Errorf("%w: %w", onceward.ErrUnavailable, err)
	}
	return err
}

// commitError says what an error of COMMIT means, once the transaction has been rolled back on the connection.
//
// Definite: BUSY, FULL, a constraint (a deferred foreign key) and an interrupt come before the frame that marks the
// commit is in the write-ahead log. All others, IOERR above all, may come after it: if only the fsync failed, the whole
// transaction lies in the log, and although no connection sees it (the shared index of the log ends before it), a
// machine that loses power now may find it there when it recovers the log. That end is unknown; see writer.suspect for
// how it becomes known.
func commitError(err error) error {
	switch codeOf(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_FULL, lib.SQLITE_CONSTRAINT, lib.SQLITE_INTERRUPT:
		return explain(err)
	}
	return fmt.Errorf("%w: %w", onceward.ErrCommitUnknown, explain(err))
}

func isContextError(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
