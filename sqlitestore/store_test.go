package sqlitestore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

func TestFirst(t *testing.T) {
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "a b?#%41.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	e, err := onceward.New(s, onceward.Options{MemoryBytesMax: -1})
	if err != nil {
		t.Fatal(err)
	}
	op := &onceward.Operation{Name: "x.v1"}
	for range 3 {
		n, err := onceward.Run(ctx, e, op.For(onceward.Scope{Tenant: "a", Principal: "b"}, "k", 1), func(ctx context.Context, tx sqlstore.Tx) (int, error) {
			var n int
			_, err := tx.ExecContext(ctx, "create table x(a)")
			if err != nil {
				return 0, err
			}
			err = tx.QueryRowContext(ctx, "insert into x values(7) returning a").Scan(&n)
			return n, err
		})
		t.Log(n, err)
	}
	r, err := e.Find(ctx, op.For(onceward.Scope{Tenant: "a", Principal: "b"}, "k", 1))
	t.Logf("%+v %v", r, err)
	st, err := s.Status(ctx)
	t.Log(st[0].Applied, err)
}
