package pgsqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/postgres"
)

var (
	errAborted = errors.New("pgsqlstore: a statement of the work failed, so the transaction was rolled back: return the error, or run the statement behind a SAVEPOINT")
	errRunning = errors.New("pgsqlstore: a call of the work was still running when the work returned, so the transaction was rolled back")
	errPool    = errors.New("pgsqlstore: Join needs a transaction, not a pool: each statement would go to another connection")
	errRawEnd  = fmt.Errorf("%w: the work ended it by SQL of its own; no record was saved, and what that SQL committed cannot be taken back", onceward.ErrTxEnded)
	errOver    = fmt.Errorf("%w: the work has returned", onceward.ErrTxEnded)
	errNotYour = fmt.Errorf("%w: return nil to commit, an error to roll back; a savepoint is SAVEPOINT and ROLLBACK TO", onceward.ErrTxEnded)
)

// sqlState is the SQLSTATE of the server's own error in err, or nothing. The drivers' errors have nothing else in common.
func sqlState(err error) string {
	var server interface{ SQLState() string }
	if errors.As(err, &server) {
		return server.SQLState()
	}
	return ""
}

// serverError is a server's error without what quotes values: a record's key and outcome have no place in an error.
type serverError struct{ code, text string }

func (e *serverError) Error() string    { return e.text }
func (e *serverError) SQLState() string { return e.code }

// scrub takes the driver's own error out of err, which may have the server's details.
func scrub(err error) error {
	if code := sqlState(err); code != "" {
		return &serverError{code: code, text: err.Error()}
	}
	return err
}

// failure says what kept the store from a step in which nothing is written.
func failure(ctx context.Context, step string, err error) error {
	code := sqlState(err)
	switch {
	case errors.Is(err, onceward.ErrCollision), errors.Is(err, onceward.ErrInFlight), errors.Is(err, onceward.ErrTxEnded),
		errors.Is(err, onceward.ErrUnavailable):
		return err
	// lib/pq tells a caller who is gone of a bad connection, or of what the server said when it was asked to stop.
	case (code == "" || code == postgres.QueryCanceled) && ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%w: %s: %w: %w", onceward.ErrUnavailable, step, ctx.Err(), scrub(err))
	case code == "": // the network's, the context's, or the driver's
		return fmt.Errorf("%w: %s: %w", onceward.ErrUnavailable, step, err)
	case postgres.NoSchema(code):
		return fmt.Errorf("%w, or set the search_path: pgsqlstore: %s: %w", onceward.ErrSchema, step, scrub(err))
	case postgres.StaleStatement(code) && code != postgres.NotSupported:
		return fmt.Errorf("pgsqlstore: %s: a prepared statement got lost between two transactions, as behind PgBouncer: %s: %w", step, poolerAdvice, scrub(err))
	case postgres.Unavailable(code):
		return fmt.Errorf("%w: %s: %w", onceward.ErrUnavailable, step, scrub(err))
	}
	return fmt.Errorf("pgsqlstore: %s: %w", step, scrub(err))
}

// poolerAdvice is the way out where a pooler gives every transaction another server process.
const poolerAdvice = "add default_query_exec_mode=exec to the connection string with pgx, binary_parameters=yes with lib/pq"

// insertFailure judges the error of the statements before the COMMIT, without which nothing stands.
func insertFailure(ctx context.Context, err error) error {
	switch sqlState(err) {
	case postgres.UniqueViolation:
		return fmt.Errorf("%w: %w", onceward.ErrTaken, scrub(err))
	case postgres.NotNullViolation:
		return errRawEnd // see postgres.InsertRecord
	case postgres.Aborted:
		return errAborted
	case "":
		return fmt.Errorf("%w: save: the connection was lost before the commit; rows that a work leaves open, too, cost it: %w", onceward.ErrUnavailable, err)
	}
	return failure(ctx, "save", err)
}

// commitFailure judges the error of the COMMIT. An SQLSTATE does not tell whether the server ended with it, so that an
// end is definite only where a server that goes on may say so: a deferred constraint, a conflict, an error that a trigger
// raised.
func commitFailure(ctx context.Context, err error) error {
	switch code := sqlState(err); {
	case code == "", code == postgres.IdleTimeout, code == postgres.CompletionUnknown:
		return fmt.Errorf("%w: %w", onceward.ErrCommitUnknown, scrub(err))
	default:
		for _, class := range []string{"08", "53", "54", "55", "57", "58", "F0", "XX"} {
			if strings.HasPrefix(code, class) {
				return fmt.Errorf("%w: %w", onceward.ErrCommitUnknown, scrub(err))
			}
		}
	}
	return failure(ctx, "save", err)
}
