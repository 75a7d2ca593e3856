package pgxstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/postgres"
)

var (
	errAborted = errors.New("pgxstore: a statement of the work failed, so the transaction was rolled back: return the error, or run the statement in a savepoint (tx.Begin)")
	errRows    = errors.New("pgxstore: the work left rows open, so the transaction was rolled back: close them")
	errBusy    = errors.New("pgxstore: join: rows of the caller's transaction are still open: close them")
	errRunning = errors.New("pgxstore: a call of the work was still running when the work returned, so the transaction was rolled back")
	errLost    = fmt.Errorf("%w: the connection was lost during the work, which rolled it back", onceward.ErrUnavailable)
	errRawEnd  = fmt.Errorf("%w: the work ended it by SQL of its own; no record was saved, and what that SQL committed cannot be taken back", onceward.ErrTxEnded)
	errOver    = fmt.Errorf("%w: the work has returned", onceward.ErrTxEnded)
	errNotYour = fmt.Errorf("%w: return nil to commit, an error to roll back; Begin gives a savepoint", onceward.ErrTxEnded)
)

// pgError is the server's own error in err, or nil.
func pgError(err error) *pgconn.PgError {
	var server *pgconn.PgError
	errors.As(err, &server)
	return server
}

// scrub takes out of a server's error what quotes values: a record's key and outcome have no place in an error.
func scrub(err error) error {
	server := pgError(err)
	if server == nil {
		return err
	}
	clean := *server
	clean.Detail, clean.Where, clean.InternalQuery = "", "", ""
	return &clean
}

// failure says what kept the store from a step in which nothing is written.
func failure(step string, err error) error {
	server := pgError(err)
	switch {
	case errors.Is(err, onceward.ErrCollision), errors.Is(err, onceward.ErrInFlight), errors.Is(err, onceward.ErrTxEnded),
		errors.Is(err, onceward.ErrUnavailable):
		return err
	case server == nil: // the network's or the context's
		return fmt.Errorf("%w: %s: %w", onceward.ErrUnavailable, step, err)
	case postgres.NoSchema(server.Code):
		return fmt.Errorf("%w, or set the search_path: pgxstore: %s: %w", onceward.ErrSchema, step, scrub(err))
	case staleStatement(server) && server.Code != postgres.NotSupported:
		return fmt.Errorf("pgxstore: %s: a prepared statement got lost between two transactions, as behind PgBouncer: set default_query_exec_mode=exec: %w", step, scrub(err))
	case unavailable(server):
		return fmt.Errorf("%w: %s: %w", onceward.ErrUnavailable, step, scrub(err))
	}
	return fmt.Errorf("pgxstore: %s: %w", step, scrub(err))
}

func unavailable(server *pgconn.PgError) bool {
	return postgres.Unavailable(server.Code) || fatal(server)
}

func staleStatement(server *pgconn.PgError) bool {
	return server != nil && postgres.StaleStatement(server.Code)
}

func fatal(server *pgconn.PgError) bool {
	severity := server.SeverityUnlocalized
	if severity == "" {
		severity = server.Severity
	}
	return severity == "FATAL" || severity == "PANIC"
}

// unsent reports whether err came up before the last batch was on its way, so that nothing of it can have happened.
func unsent(err error) bool {
	preparing := pgx.ErrPreprocessingBatch{}
	return pgconn.SafeToRetry(err) || errors.As(err, &preparing)
}

// saveFailure judges the error of the batch that saves and commits.
func saveFailure(err error) error {
	server := pgError(err)
	switch {
	case unsent(err):
		return failure("save", err)
	case server == nil, fatal(server), server.Code == postgres.CompletionUnknown, strings.HasPrefix(server.Code, "08"):
		return fmt.Errorf("%w: %w", onceward.ErrCommitUnknown, scrub(err))
	}
	return insertFailure(server)
}

// insertFailure judges an error of the server that ended the transaction for certain.
func insertFailure(server *pgconn.PgError) error {
	switch {
	case server.Code == postgres.UniqueViolation && server.ConstraintName == "onceward_record_pkey":
		return fmt.Errorf("%w: %w", onceward.ErrTaken, scrub(server))
	case server.Code == postgres.NotNullViolation && server.TableName == "onceward_record" && server.ColumnName == "attempt":
		return errRawEnd // see postgres.InsertRecord
	}
	return failure("save", server)
}
