package pgsqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func server(code string) error { return &serverError{code: code, text: "the server's text"} }

// What a server says when it is a standby, is going, or is full cannot be had at will from the tests' server.
func TestFailureSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err         error
		unavailable bool
		says        string
	}{
		"the network":          {io.ErrUnexpectedEOF, true, ""},
		"the driver":           {driver.ErrBadConn, true, ""},
		"the context":          {context.DeadlineExceeded, true, ""},
		"shut down":            {server("57P01"), true, ""},
		"too many connections": {server("53300"), true, ""},
		"disk full":            {server("53100"), true, ""},
		"a standby":            {server("25006"), true, ""},
		"READ WRITE refused":   {server("0A000"), true, ""},
		"a pooler's server":    {server("08P01"), true, ""},
		"silent for too long":  {server("25P03"), true, ""},
		"no table":             {server("42P01"), false, "Migrate"},
		"no column":            {server("42703"), false, "Migrate"},
		"a lost statement":     {server("26000"), false, "binary_parameters"},
		"a found statement":    {server("42P05"), false, "default_query_exec_mode"},
		"no permission":        {server("42501"), false, "claim"},
	} {
		err := failure(t.Context(), "claim", test.err)
		if got := errors.Is(err, onceward.ErrUnavailable); got != test.unavailable || !strings.Contains(err.Error(), test.says) || !errors.Is(err, test.err) && sqlState(err) == "" {
			t.Errorf("%s: unavailable %t, want %t; %v", name, got, test.unavailable, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := failure(over, "claim", driver.ErrBadConn); !errors.Is(err, context.Canceled) || !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("a caller who is gone: %v", err)
	}
}

// An end is definite only where a server that goes on may have said so.
func TestCommitFailureIsDefiniteOrNot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err     error
		unknown bool
	}{
		"the network":            {io.ErrUnexpectedEOF, true},
		"the driver":             {driver.ErrBadConn, true},
		"the context":            {context.DeadlineExceeded, true},
		"terminated":             {server("57P01"), true},
		"cancelled":              {server("57014"), true},
		"crashed":                {server("57P02"), true},
		"PANIC":                  {server("XX000"), true},
		"silent for too long":    {server("25P03"), true},
		"completion unknown":     {server("40003"), true},
		"a pooler's server died": {server("08006"), true},
		"disk full":              {server("53100"), true},
		"a deferred constraint":  {server("23503"), false},
		"a conflict":             {server("40001"), false},
		"a trigger's error":      {server("P0001"), false},
	} {
		if err := commitFailure(t.Context(), test.err); errors.Is(err, onceward.ErrCommitUnknown) != test.unknown {
			t.Errorf("%s: %v, want unknown: %t", name, err, test.unknown)
		}
	}
}

func TestInsertFailure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ err, want error }{
		"taken":               {server("23505"), onceward.ErrTaken},
		"another transaction": {server("23502"), onceward.ErrTxEnded},
		"lost":                {driver.ErrBadConn, onceward.ErrUnavailable},
		"terminated":          {server("57P01"), onceward.ErrUnavailable},
		"aborted":             {server("25P02"), errAborted},
	} {
		if err := insertFailure(t.Context(), test.err); !errors.Is(err, test.want) || errors.Is(err, onceward.ErrCommitUnknown) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{IdleTimeout: -1}, {IdleTimeout: 1}, {ClaimTimeout: -1}} {
		if _, err := NewWith(nil, o); err == nil {
			t.Errorf("%+v were taken", o)
		}
	}
}

// A driver that gives a uuid otherwise than as text is told of.
func TestUUID(t *testing.T) {
	t.Parallel()
	var got uuid
	for _, from := range []any{"00010203-0405-0607-0809-0a0b0c0d0e0f", []byte("000102030405060708090a0b0c0d0e0f")} {
		if err := got.Scan(from); err != nil || got != (uuid{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) {
			t.Errorf("%v: %v, %v", from, got, err)
		}
	}
	for _, from := range []any{"00", "0001020304050607 8090a0b0c0d0e0fx", 7, [16]byte{}} {
		if err := got.Scan(from); err == nil {
			t.Errorf("%v was taken", from)
		}
	}
}

// Whatever a driver says when its caller hung up: it is the caller's end.
func TestFailureOfACallerWhoIsGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{"stopped": server("57014"), "cut off": driver.ErrBadConn, "told": context.Canceled} {
		if got := failure(ctx, "claim", err); !errors.Is(got, context.Canceled) || !errors.Is(got, onceward.ErrUnavailable) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := failure(t.Context(), "claim", server("57014")); errors.Is(got, context.Canceled) {
		t.Errorf("stopped by another: %v", got)
	}
}
