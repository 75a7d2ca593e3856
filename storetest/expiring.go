package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// lived is one run of a work: its record's life began after worked, and the work's caller was answered at answered.
type lived struct {
	worked, answered time.Time
}

// together reports whether two runs of a key lie within one record's life: neither can have waited for the other's end. The
// store's clock need only go as fast as this one.
func (r lived) together(other lived, life time.Duration) bool {
	return r.answered.Sub(other.worked) < life && other.answered.Sub(r.worked) < life
}

// sweepsBesideRetries: callers ask for few keys again and again, whose records are soon over, while sweepers delete what they
// find. Which attempt runs is for the store to say.
func sweepsBesideRetries[Tx any](t *testing.T, f *fixture[Tx]) {
	const (
		callers, retries, keys = 8, 125, 5
		life                   = 40 * time.Millisecond
		rounding               = 2 * time.Millisecond // of a store's clock
	)
	expiring := with(patient, func(o *onceward.Operation) { o.Retention = life })
	engines, stores := f.engines(t), f.stores(t)
	var (
		mu   sync.Mutex
		runs [keys][]lived
	)
	retry := func(e *onceward.Engine[Tx], n int) {
		var run lived
		_, err := e.Do(t.Context(), expiring.For(alice, fmt.Sprint(n), nil), func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			err := f.Write(ctx, tx, fmt.Sprint(n))
			run.worked = time.Now()
			return outcome("ran"), err
		})
		if run.answered = time.Now(); err != nil {
			t.Errorf("Do: %v", err)
		}
		if !run.worked.IsZero() {
			mu.Lock()
			defer mu.Unlock()
			runs[n] = append(runs[n], run)
		}
	}
	over := make(chan struct{})
	var calling, sweeping sync.WaitGroup
	for _, store := range stores {
		sweeping.Go(func() {
			for {
				if _, err := store.Sweep(t.Context(), 0, 50); err != nil {
					t.Errorf("Sweep: %v", err)
				}
				select {
				case <-over:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	for i := range callers {
		calling.Go(func() {
			for n := range retries {
				retry(engines[(i+n)%len(engines)], (i*n+n)%keys)
			}
		})
	}
	calling.Wait()
	close(over)
	sweeping.Wait()
	for n, lives := range runs {
		f.wantEffects(t, fmt.Sprint(n), len(lives))
		for i, one := range lives {
			for _, other := range lives[:i] {
				if one.together(other, life-rounding) {
					t.Errorf("key %d has two effects in a life of %v: answered after %v and %v", n, life, one.answered.Sub(other.worked), other.answered.Sub(one.worked))
				}
			}
		}
	}
}
