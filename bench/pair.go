package bench

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Side is one side of a comparison, measured once: what it gets done in a second.
type Side func(ctx context.Context) (float64, error)

// Ratios measures a and b in turn, rounds times, and returns what b does for each that a does. Who begins alternates, so
// that what drifts (a growing table, a warm cache, a neighbour on the machine) falls on both alike.
func Ratios(ctx context.Context, rounds int, a, b Side) ([]float64, error) {
	ratios := make([]float64, rounds)
	for i := range ratios {
		first, second := a, b
		if i%2 == 1 {
			first, second = b, a
		}
		x, err := first(ctx)
		if err != nil {
			return nil, err
		}
		y, err := second(ctx)
		if err != nil {
			return nil, err
		}
		if ratios[i] = y / x; i%2 == 1 {
			ratios[i] = x / y
		}
	}
	return ratios, nil
}

// Repeat measures one side rounds times.
func Repeat(ctx context.Context, rounds int, a Side) ([]float64, error) {
	values := make([]float64, rounds)
	for i := range values {
		var err error
		if values[i], err = a(ctx); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// Quartiles are the first quartile, the median and the third of values, of which there must be one.
func Quartiles(values []float64) (first, median, third float64) {
	sorted := slices.Sorted(slices.Values(values))
	at := func(part float64) float64 {
		place := part * float64(len(sorted)-1)
		below := int(place)
		above := min(below+1, len(sorted)-1)
		return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
	}
	return at(0.25), at(0.5), at(0.75)
}

// Median is the middle of values.
func Median(values []float64) float64 {
	_, median, _ := Quartiles(values)
	return median
}

// Callers is the side of so many callers that call op without a pause for a window of time.
func Callers(callers int, window time.Duration, op func(context.Context) error) Side {
	return func(ctx context.Context) (float64, error) {
		began := time.Now()
		var done atomic.Int64
		err := each(callers, func() error {
			for time.Since(began) < window {
				if err := op(ctx); err != nil {
					return err
				}
				done.Add(1)
			}
			return nil
		})
		return float64(done.Load()) / time.Since(began).Seconds(), err
	}
}

// Calls has so many callers call op count times in all.
func Calls(ctx context.Context, callers, count int, op func(context.Context) error) error {
	var taken atomic.Int64
	return each(callers, func() error {
		for taken.Add(1) <= int64(count) {
			if err := op(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

func each(callers int, call func() error) error {
	var group sync.WaitGroup
	errs := make([]error, callers)
	for i := range errs {
		group.Go(func() { errs[i] = call() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// Alone is the side of one goroutine that calls op for a window of time, by the processor time of its thread. On a quiet
// machine that is the time that passed; on a busy one the neighbours count less. The garbage collector runs on other
// threads and counts where it makes this one help or wait for memory.
func Alone(window time.Duration, op func(ctx context.Context, i int) error) Side {
	const clockEvery = 64 // calls: the clock's own cost
	next := 0
	return func(ctx context.Context) (float64, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		began, used, from := time.Now(), threadTime(), next
		for time.Since(began) < window {
			for range clockEvery {
				if err := op(ctx, next); err != nil {
					return 0, err
				}
				next++
			}
		}
		return float64(next-from) / (threadTime() - used).Seconds(), nil
	}
}
