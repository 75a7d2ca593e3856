package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a database whose every query answers with a column n of three rows, and that counts the rows that are open.
type fake struct {
	open  atomic.Int64
	block chan struct{} // a query waits for it, if there is one
}

func (f *fake) Connect(context.Context) (driver.Conn, error) { return fakeConn{f}, nil }
func (f *fake) Driver() driver.Driver                        { return nil }
func (c fakeConn) Prepare(string) (driver.Stmt, error)       { return nil, errors.New("not here") }
func (c fakeConn) Begin() (driver.Tx, error)                 { return c, nil }
func (c fakeConn) Close() error                              { return nil }
func (c fakeConn) Commit() error                             { return nil }
func (c fakeConn) Rollback() error                           { return nil }
func (c fakeConn) LastInsertId() (int64, error)              { return 0, nil }
func (c fakeConn) RowsAffected() (int64, error)              { return 1, nil }
func (r *fakeRows) Columns() []string                        { return []string{"n", "text", "bytes", "nothing", "at"} }
func (c fakeConn) CheckNamedValue(*driver.NamedValue) error  { return nil }
func (c fakeConn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	if query == "fail" {
		return nil, errFake
	}
	return c, nil
}

type fakeConn struct{ *fake }

var (
	errFake = errors.New("the statement failed")
	epoch   = time.Unix(0, 0).UTC()
)

func (c fakeConn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if c.block != nil {
		<-c.block
	}
	switch query {
	case "fail":
		return nil, errFake
	case "none":
		c.open.Add(1)
		return &fakeRows{fake: c.fake, n: 3}, nil
	}
	c.open.Add(1)
	return &fakeRows{fake: c.fake, late: query == "fail late"}, nil
}

type fakeRows struct {
	*fake
	n    int64
	late bool
}

func (r *fakeRows) Close() error {
	r.open.Add(-1)
	return nil
}

func (r *fakeRows) Next(into []driver.Value) error {
	if r.late {
		return errFake
	}
	if r.n++; r.n > 3 {
		return io.EOF
	}
	into[0], into[1], into[2], into[3], into[4] = r.n, "text", []byte{0, 1}, nil, epoch
	return nil
}

func guarded(t *testing.T, hooks Hooks) (*Guard, *fake) {
	t.Helper()
	f := &fake{}
	db := sql.OpenDB(f)
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return NewGuard(tx, hooks), f
}

func TestGuardReadsARowAtOnce(t *testing.T) {
	t.Parallel()
	g, f := guarded(t, Hooks{})
	ctx := t.Context()
	row := g.QueryRowContext(ctx, "one")
	if f.open.Load() != 0 {
		t.Error("a row that is not scanned keeps its query open")
	}
	g.End(errFake)
	var n int
	var text string
	var bytes []byte
	var nothing sql.NullString
	var at time.Time
	if err := row.Scan(&n, &text, &bytes, &nothing, &at); err != nil || n != 1 || text != "text" || string(bytes) != "\x00\x01" || nothing.Valid || !at.Equal(epoch) {
		t.Errorf("scanned %d %q %v %v %v, %v", n, text, bytes, nothing, at, err)
	}
}

func TestGuardRowErrors(t *testing.T) {
	t.Parallel()
	g, f := guarded(t, Hooks{})
	var n any
	for query, want := range map[string]error{"none": sql.ErrNoRows, "fail": errFake, "fail late": errFake} {
		if err := g.QueryRowContext(t.Context(), query).Scan(&n, &n, &n, &n, &n); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", query, err, want)
		}
	}
	if f.open.Load() != 0 {
		t.Errorf("%d rows are open", f.open.Load())
	}
	if _, err := g.PrepareContext(t.Context(), "x"); !errors.Is(err, ErrPrepare) {
		t.Errorf("PrepareContext: %v", err)
	}
}

func TestGuardIsDeadAfterItsEnd(t *testing.T) {
	t.Parallel()
	g, f := guarded(t, Hooks{})
	rows, err := g.QueryContext(t.Context(), "rows")
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	ended := errors.New("it is over")
	g.End(ended)
	if f.open.Load() != 0 || rows.Next() {
		t.Error("rows that the work left open are still open")
	}
	_, exec := g.ExecContext(t.Context(), "x")
	_, query := g.QueryContext(t.Context(), "x")
	row := g.QueryRowContext(t.Context(), "x").Err()
	alone := g.Alone(func(Tx) error { return nil })
	for i, err := range []error{exec, query, row, alone} {
		if !errors.Is(err, ended) {
			t.Errorf("use %d after the end: %v", i, err)
		}
	}
}

func TestGuardForgetsClosedRows(t *testing.T) {
	t.Parallel()
	g, f := guarded(t, Hooks{})
	var left []*sql.Rows
	for i := range 5000 {
		rows, err := g.QueryContext(t.Context(), "rows")
		if err != nil {
			t.Fatal(err)
		}
		if i%500 == 0 {
			left = append(left, rows)
			continue
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(g.open) > 100 {
		t.Errorf("%d rows are remembered, of which %d are open", len(g.open), len(left))
	}
	g.End(errFake)
	if f.open.Load() != 0 {
		t.Errorf("%d rows are open", f.open.Load())
	}
}

func TestGuardHooks(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	var seen []error
	type key struct{}
	g, _ := guarded(t, Hooks{
		Before: func(ctx context.Context, _ string) (context.Context, error) {
			if ctx.Value(key{}) != nil {
				return nil, refused
			}
			return context.WithoutCancel(ctx), nil
		},
		After: func(err error) error {
			seen = append(seen, err)
			if err != nil {
				return errors.Join(errors.New("explained"), err)
			}
			return nil
		},
	})
	if _, err := g.ExecContext(context.WithValue(t.Context(), key{}, 1), "x"); !errors.Is(err, refused) || len(seen) != 0 {
		t.Errorf("a refused statement: %v, %d were sent", err, len(seen))
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.ExecContext(cancelled, "x"); err != nil {
		t.Errorf("the statement did not get the hook's context: %v", err)
	}
	if err := g.QueryRowContext(t.Context(), "fail").Err(); !errors.Is(err, errFake) || !strings.Contains(err.Error(), "explained") {
		t.Errorf("a failed row: %v", err)
	}
	if len(seen) != 2 || seen[0] != nil || !errors.Is(seen[1], errFake) {
		t.Errorf("After saw %v", seen)
	}
}

// TestGuardEndWaits: a statement that runs when the work returns is over before the end is.
func TestGuardEndWaits(t *testing.T) {
	t.Parallel()
	g, f := guarded(t, Hooks{})
	f.block = make(chan struct{})
	var queries sync.WaitGroup
	started := make(chan struct{})
	g.hooks.Before = func(ctx context.Context, _ string) (context.Context, error) {
		close(started)
		return ctx, nil
	}
	queries.Go(func() { _ = g.QueryRowContext(t.Context(), "one").Err() })
	<-started
	go close(f.block)
	g.End(errFake)
	if f.open.Load() != 0 {
		t.Error("the guard ended while a statement ran")
	}
	queries.Wait()
}
