package mysqlstore

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward"
)

// The server's errors that the store tells apart (https://mariadb.com/kb/en/mariadb-error-codes/).
const (
	codeNullValue      = 1048
	codeUnknownColumn  = 1054
	codeDuplicate      = 1062
	codeSyntax         = 1064
	codeNoTable        = 1146
	codeLockTimeout    = 1205
	codeDeadlock       = 1213 // also a conflict with another node of a cluster
	codeOption         = 1290 // the server runs with --read-only
	codeNoSavepoint    = 1305
	codeStatementBased = 1665
	codeLeftOpen       = 1568 // the connection is in a transaction that somebody has left
	codeOutOfRange     = 1690
)

// unavailable are the errors of a server that is going, has no room, or takes no writes.
var unavailable = []uint16{
	1021, 1037, 1040, 1041, 1114, // full disk, memory, connections, table
	1047, 1053, 1077, 1927, // a cluster's node that is not ready, a server that stops, a connection that it ends
	1203, 1205, 1213, 1226, 1290, 1317, 1792, 1836, 1969, // a user's connections, locks, read-only, interrupted
	codeLeftOpen,
}

var (
	errUnfit      = errors.New("mysqlstore: the server or the connection to it is not what the store needs")
	errReadOnly   = fmt.Errorf("%w: the server takes no writes: it is a replica", onceward.ErrUnavailable)
	errLost       = fmt.Errorf("%w: the connection was lost, which rolled the work back", onceward.ErrUnavailable)
	errRolledBack = fmt.Errorf("%w: the server has rolled the transaction back in the work, as it does after a deadlock", onceward.ErrNotCommitted)
	errRawEnd     = fmt.Errorf("%w: the work ended it by SQL of its own; no record was saved, and what that SQL committed cannot be taken back", onceward.ErrTxEnded)
	errOver       = fmt.Errorf("%w: the work has returned", onceward.ErrTxEnded)
	errNotSaved   = fmt.Errorf("%w, or the work has changed the record of its own claim", onceward.ErrTaken)
	errConflict   = fmt.Errorf("%w, or wrote the same rows through another node of the cluster", onceward.ErrTaken)
)

// serverError is the server's own error in err, or nil.
func serverError(err error) *mysql.MySQLError {
	var server *mysql.MySQLError
	errors.As(err, &server)
	return server
}

// numberOf is the number of the server's error in err, 0 where it is not the server's.
func numberOf(err error) int {
	if server := serverError(err); server != nil {
		return int(server.Number)
	}
	return 0
}

// scrub takes the text out of a server's error that may quote values: a record's key and outcome have no place in an error.
// Those are the errors about data and about constraints (SQLSTATE classes 22 and 23) and about syntax.
func scrub(err error) error {
	server := serverError(err)
	if server == nil {
		return err
	}
	if class := string(server.SQLState[:2]); class != "22" && class != "23" && server.Number != codeSyntax {
		return server
	}
	clean := *server
	clean.Message = "(its text is left out: it may quote a value)"
	return &clean
}

// readOnly reports whether the server takes no writes: from this user, or from others.
func readOnly(err error) bool {
	number := numberOf(err)
	return number == codeOption || number == codeNullValue || errors.Is(err, errReadOnly)
}

// failure says what kept the store from a step in which nothing is written.
func failure(step string, err error) error {
	server := serverError(err)
	switch {
	case err == nil, errors.Is(err, onceward.ErrCollision), errors.Is(err, onceward.ErrInFlight), errors.Is(err, onceward.ErrTxEnded),
		errors.Is(err, onceward.ErrUnavailable), errors.Is(err, onceward.ErrSchema), errors.Is(err, errUnfit):
		return err
	case errors.Is(err, errRaced), server == nil: // the network's or the context's
		return fmt.Errorf("%w: %s: %w", onceward.ErrUnavailable, step, err)
	case readOnly(err):
		return fmt.Errorf("%w: %s: %w", errReadOnly, step, scrub(err))
	case server.Number == codeNoTable, server.Number == codeUnknownColumn:
		return fmt.Errorf("%w: mysqlstore: %s: %w", onceward.ErrSchema, step, scrub(err))
	case server.Number == codeStatementBased:
		return fmt.Errorf("%w: its binlog_format must be MIXED or ROW: %s: %w", errUnfit, step, scrub(err))
	case slices.Contains(unavailable, server.Number):
		return fmt.Errorf("%w: %s: %w", onceward.ErrUnavailable, step, scrub(err))
	}
	return fmt.Errorf("mysqlstore: %s: %w", step, scrub(err))
}

// unsent reports whether err came up before anything was on its way, so that nothing of it can have happened.
func unsent(err error) bool {
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, mysql.ErrPktTooLarge) || errors.Is(err, mysql.ErrBusyBuffer)
}

// saveFailure judges the error of the statements that save and commit. Which of them it belongs to is not known, and after
// some of the server's own errors the end of a COMMIT is not either: what does not speak for itself is looked up.
func saveFailure(err error) error {
	switch number := numberOf(err); {
	case errors.Is(err, errNotSaved):
		return err
	case number == codeOutOfRange: // see checkSaved
		return fmt.Errorf("%w: %w", errNotSaved, scrub(err))
	case number == codeDeadlock:
		return fmt.Errorf("%w: %w", errConflict, scrub(err))
	case unsent(err):
		return failure("save", err)
	}
	return fmt.Errorf("%w: %w", onceward.ErrCommitUnknown, scrub(err))
}
