package storetest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/features"
	"github.com/onceward/onceward/memstore"
	"github.com/onceward/onceward/storetest"
)

// table is the database of effects beside memstore; tx is one transaction of it.
type table struct {
	mu   sync.Mutex
	rows map[string]int
}

type tx struct {
	table *table
	rows  []string
	ended bool
}

func (x *tx) write(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if x.ended {
		return errors.New("the transaction has ended")
	}
	x.rows = append(x.rows, key)
	return nil
}

func (x *tx) Commit(context.Context) error {
	x.table.mu.Lock()
	defer x.table.mu.Unlock()
	for _, key := range x.rows {
		x.table.rows[key]++
	}
	x.ended = true
	return nil
}

func (x *tx) Rollback(context.Context) error {
	x.ended = true
	return nil
}

func open(testing.TB) storetest.Harness[*tx] {
	effects := &table{rows: map[string]int{}}
	memory := memstore.New(func() *tx { return &tx{table: effects} })
	clock := clockAt(time.Now())
	memory.Now = clock.now
	store := &counted{Store: memory, claims: map[onceward.ID]*onceward.Record{}}
	return storetest.Harness[*tx]{
		Store: store,
		Write: func(ctx context.Context, tx *tx, key string) error { return tx.write(ctx, key) },
		Begin: func(testing.TB) (*tx, func() error, func() error) {
			own, ctx := &tx{table: effects}, context.Background()
			return own, func() error { return own.Commit(ctx) }, func() error { return own.Rollback(ctx) }
		},
		Effects: func(_ testing.TB, key string) int {
			effects.mu.Lock()
			defer effects.mu.Unlock()
			return effects.rows[key]
		},
		Records: func(testing.TB) int { return store.records() },
		Age:     func(_ testing.TB, by time.Duration) { clock.pass(by) },
		Lose: func(_ testing.TB, at storetest.LosePoint) onceward.Store[*tx] {
			return &losing{Store: store, at: at}
		},
	}
}

func TestMemstore(t *testing.T) {
	features.Store(t, "memstore", open, storetest.Processes, storetest.NoticesUntouched, storetest.JoinCommitsWithCaller,
		storetest.GuardedTx, storetest.RawEnd, storetest.Statements, storetest.Arbiter)
}

func BenchmarkMemstore(b *testing.B) { storetest.Benchmark(b, open) }

type clock struct {
	mu sync.Mutex
	at time.Time
}

func clockAt(at time.Time) *clock { return &clock{at: at} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

// counted remembers what was claimed, so that the records can be counted through the interface.
type counted struct {
	onceward.Store[*tx]
	mu     sync.Mutex
	claims map[onceward.ID]*onceward.Record
}

func (s *counted) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[*tx], *onceward.Record, error) {
	s.note(*want)
	return s.Store.Claim(ctx, want, wait)
}

func (s *counted) Join(ctx context.Context, tx *tx, want *onceward.Record) (onceward.Attempt[*tx], *onceward.Record, error) {
	s.note(*want)
	return s.Store.Join(ctx, tx, want)
}

func (s *counted) note(want onceward.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims[want.ID] = &want
}

func (s *counted) records() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, want := range s.claims {
		if record, err := s.Find(context.Background(), want); err == nil && record != nil {
			n++
		}
	}
	return n
}

// losing loses the answer of one commit, or the commit itself.
type losing struct {
	onceward.Store[*tx]
	at   storetest.LosePoint
	once sync.Once
}

func (s *losing) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[*tx], *onceward.Record, error) {
	attempt, record, err := s.Store.Claim(ctx, want, wait)
	if attempt != nil {
		s.once.Do(func() { attempt = &lost{attempt, s.at} })
	}
	return attempt, record, err
}

type lost struct {
	onceward.Attempt[*tx]
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
