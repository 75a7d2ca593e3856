package sqlitestore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/features"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
	"github.com/onceward/onceward/storetest"
)

// lacks: works take turns at the file's one lock, which another process cannot tell from a running attempt: it waits and
// is told ErrUnavailable. What several processes may count on all the same is tested in process_test.go.
var lacks = []storetest.Feature{storetest.Processes, storetest.ParallelAttempts, storetest.Arbiter}

func TestStore(t *testing.T) {
	t.Parallel()
	features.Store(t, "sqlitestore", harness, lacks...)
}

func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, harness) }

func harness(t testing.TB) storetest.Harness[sqlstore.Tx] {
	store, path := fresh(t, sqlitestore.Options{})
	return storetest.Harness[sqlstore.Tx]{
		Store: store,
		Write: write,
		Refused: func(ctx context.Context, tx sqlstore.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO singular (key) VALUES ('twice'), ('twice')")
			return err
		},
		EndRaw: func(ctx context.Context, tx sqlstore.Tx, statement string) error {
			_, err := tx.ExecContext(ctx, statement)
			return err
		},
		Begin: func(t testing.TB) (sqlstore.Tx, func() error, func() error) {
			tx, err := connect(t, path).BeginTx(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return tx, tx.Commit, tx.Rollback
		},
		Effects: func(t testing.TB, key string) int { return effects(t, path, key) },
		Records: func(t testing.TB) int { return records(t, path) },
		Age: func(t testing.TB, by time.Duration) {
			outside(t, path, "UPDATE onceward_record SET created_at = created_at - ?1, expires_at = expires_at - ?1, kept_until = kept_until - ?1",
				by.Milliseconds())
		},
		Lose: func(_ testing.TB, at storetest.LosePoint) onceward.Store[sqlstore.Tx] {
			return &losing{Store: store, at: at}
		},
	}
}

// losing loses one commit, or its answer, as a disk does that fails in the middle of it.
type losing struct {
	onceward.Store[sqlstore.Tx]
	at   storetest.LosePoint
	once sync.Once
}

func (s *losing) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[sqlstore.Tx], *onceward.Record, error) {
	attempt, record, err := s.Store.Claim(ctx, want, wait)
	if attempt != nil {
		s.once.Do(func() { attempt = &lost{attempt, s.at} })
	}
	return attempt, record, err
}

type lost struct {
	onceward.Attempt[sqlstore.Tx]
	at storetest.LosePoint
}

func (a *lost) Save(ctx context.Context, o onceward.Outcome) (bool, error) {
	if a.at == storetest.LoseAfterCommit {
		if untouched, err := a.Attempt.Save(ctx, o); err != nil {
			return untouched, err
		}
	} else if err := a.Rollback(ctx); err != nil {
		return false, err
	}
	return false, onceward.ErrCommitUnknown
}
