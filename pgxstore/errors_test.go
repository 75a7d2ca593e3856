package pgxstore

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward"
)

func server(severity, code string) error {
	return &pgconn.PgError{SeverityUnlocalized: severity, Severity: "translated", Code: code, Detail: "s3cret"}
}

// What a server says when it is a standby, is going, or is full cannot be had at will from the tests' server.
func TestFailureSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err         error
		unavailable bool
		says        string
	}{
		"the network":          {io.ErrUnexpectedEOF, true, ""},
		"the context":          {context.DeadlineExceeded, true, ""},
		"shut down":            {server("FATAL", "57P01"), true, ""},
		"starting":             {server("FATAL", "57P03"), true, ""},
		"too many connections": {server("FATAL", "53300"), true, ""},
		"disk full":            {server("ERROR", "53100"), true, ""},
		"a standby":            {server("ERROR", "25006"), true, ""},
		"READ WRITE refused":   {server("ERROR", "0A000"), true, ""},
		"a pooler's server":    {server("ERROR", "08P01"), true, ""},
		"no table":             {server("ERROR", "42P01"), false, "Migrate"},
		"no column":            {server("ERROR", "42703"), false, "Migrate"},
		"a lost statement":     {server("ERROR", "26000"), false, "default_query_exec_mode"},
		"a found statement":    {server("ERROR", "42P05"), false, "default_query_exec_mode"},
		"no permission":        {server("ERROR", "42501"), false, "claim"},
	} {
		err := failure("claim", test.err)
		if got := errors.Is(err, onceward.ErrUnavailable); got != test.unavailable || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: unavailable %t, want %t; %v", name, got, test.unavailable, err)
		}
		if wrapped := pgError(err); wrapped != nil && wrapped.Detail != "" {
			t.Errorf("%s: the error quotes a value", name)
		}
	}
}

// An end is definite only where the server, alive, has said so, or nothing was sent.
func TestSaveFailureIsDefiniteOrNot(t *testing.T) {
	t.Parallel()
	taken := &pgconn.PgError{Severity: "ERROR", Code: "23505", ConstraintName: "onceward_record_pkey"}
	another := &pgconn.PgError{Severity: "ERROR", Code: "23505", ConstraintName: "orders_pkey"}
	chained := &pgconn.PgError{Severity: "ERROR", Code: "23502", TableName: "onceward_record", ColumnName: "attempt"}
	for name, test := range map[string]struct{ err, want error }{
		"the network":              {io.ErrUnexpectedEOF, onceward.ErrCommitUnknown},
		"the context":              {context.DeadlineExceeded, onceward.ErrCommitUnknown},
		"FATAL":                    {server("FATAL", "57P01"), onceward.ErrCommitUnknown},
		"PANIC":                    {server("PANIC", "XX000"), onceward.ErrCommitUnknown},
		"completion unknown":       {server("ERROR", "40003"), onceward.ErrCommitUnknown},
		"a pooler lost its server": {server("ERROR", "08006"), onceward.ErrCommitUnknown},
		"never sent":               {pgconn.ErrConnClosed, onceward.ErrCommitUnknown}, // without the driver's word it is not known
		"taken":                    {taken, onceward.ErrTaken},
		"another key":              {another, nil},
		"another transaction":      {chained, onceward.ErrTxEnded},
		"a deferred constraint":    {server("ERROR", "23503"), nil},
		"disk full":                {server("ERROR", "53100"), onceward.ErrUnavailable},
	} {
		err := saveFailure(test.err)
		for _, verdict := range []error{onceward.ErrCommitUnknown, onceward.ErrTaken, onceward.ErrTxEnded, onceward.ErrUnavailable} {
			if errors.Is(err, verdict) != (verdict == test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
	}
}
