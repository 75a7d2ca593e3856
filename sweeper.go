package onceward

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Defaults of SweeperOptions.
const (
	SweepEveryDefault    = time.Minute
	SweepPauseDefault    = 50 * time.Millisecond
	SweepGraceDefault    = time.Minute
	SweepBatchMaxDefault = 1000
)

// BacklogMax is as far as a backlog is counted, in records.
const BacklogMax = 10_000

// SweeperOptions of a Sweeper. The zero value works.
type SweeperOptions struct {
	// Every is the time between two sweeps. Defaults to one minute.
	Every time.Duration
	// Pause is the time between two batches of one sweep: it paces the deletes. Defaults to 50 ms.
	Pause time.Duration
	// Grace is how long a record stays after its end, longer than any attempt and its resolution take. Defaults to one
	// minute.
	Grace time.Duration
	// BatchMax bounds the records that one batch deletes. Defaults to 1000.
	BatchMax int
}

// Sweeper deletes records whose time is over. It is about room only: an expired record never blocks, swept or not. Any
// number of sweepers may run at once.
type Sweeper struct {
	options SweeperOptions
	batch   func(ctx context.Context) (int, error)
	backlog func(ctx context.Context)
}

// Sweeper makes a sweeper of the engine's store. It starts nothing: call its Run or RunOnce.
func (e *Engine[Tx]) Sweeper(o SweeperOptions) (*Sweeper, error) {
	o.Every = orDefault(o.Every, SweepEveryDefault)
	o.Pause = orDefault(o.Pause, SweepPauseDefault)
	o.Grace = orDefault(o.Grace, SweepGraceDefault)
	o.BatchMax = orDefault(o.BatchMax, SweepBatchMaxDefault)
	if o.Every < 0 || o.Pause < 0 || o.Grace < 0 || o.BatchMax < 0 {
		return nil, fmt.Errorf("onceward: SweeperOptions must not be negative: %+v", o)
	}
	return &Sweeper{
		options: o,
		batch:   func(ctx context.Context) (int, error) { return e.sweep(ctx, o.Grace, o.BatchMax) },
		backlog: e.backlog,
	}, nil
}

// Run sweeps until ctx ends and returns its error. A sweep that fails has been told to the observer; the next one tries
// again.
func (s *Sweeper) Run(ctx context.Context) error {
	ticker := time.NewTicker(s.options.Every)
	defer ticker.Stop()
	for {
		_, _ = s.RunOnce(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// RunOnce deletes, batch by batch, all records whose time is over and returns how many it deleted. The observer is told of
// each batch, and in the end of what is left.
func (s *Sweeper) RunOnce(ctx context.Context) (total int, _ error) {
	defer s.backlog(ctx)
	for {
		n, err := s.batch(ctx)
		if total += n; err != nil || n < s.options.BatchMax {
			return total, err
		}
		select {
		case <-time.After(s.options.Pause):
		case <-ctx.Done():
			return total, ctx.Err()
		}
	}
}

func (e *Engine[Tx]) sweep(ctx context.Context, grace time.Duration, limit int) (n int, err error) {
	if o := e.options.Observer; o != nil {
		event := Event{Step: StepSweep}
		swept, end := observeEvent(ctx, o, &event)
		defer func() {
			event.Deleted, event.Err = n, err
			end()
		}()
		ctx = swept
	}
	n, err = e.store.Sweep(ctx, grace, limit)
	if err != nil && !errors.Is(err, context.Canceled) {
		err = fmt.Errorf("onceward: sweep: %w", err)
	}
	return n, err
}

// backlog tells the observer what there is to sweep. Without an observer nobody asks.
func (e *Engine[Tx]) backlog(ctx context.Context) {
	o := e.options.Observer
	if o == nil || ctx.Err() != nil {
		return
	}
	event := Event{Step: StepSweep}
	ctx, end := observeEvent(ctx, o, &event)
	left, err := e.store.Backlog(ctx, BacklogMax)
	event.Note = NoteBacklog
	if event.Err = err; err == nil {
		event.Backlog = &left
	}
	end()
}
