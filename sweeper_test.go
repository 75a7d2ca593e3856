package onceward_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
)

func newSweeper(t *testing.T, store *probe, o onceward.SweeperOptions) *onceward.Sweeper {
	t.Helper()
	sweeper, err := newEngine(t, store, onceward.Options{}).Sweeper(o)
	if err != nil {
		t.Fatal(err)
	}
	return sweeper
}

func TestSweeperRefusesNegativeOptions(t *testing.T) {
	e := newEngine(t, newProbe(), onceward.Options{})
	for _, o := range []onceward.SweeperOptions{{Every: -1}, {Pause: -1}, {Grace: -1}, {BatchMax: -1}} {
		if _, err := e.Sweeper(o); err == nil {
			t.Errorf("a sweeper with %+v was made", o)
		}
	}
}

func TestSweeperHasDefaults(t *testing.T) {
	store := newProbe()
	store.onSweep = func(_ context.Context, grace time.Duration, limit int) (int, error) {
		if grace != onceward.SweepGraceDefault || limit != onceward.SweepBatchMaxDefault {
			t.Errorf("swept with a grace of %v and a limit of %d", grace, limit)
		}
		return 0, nil
	}
	if n, err := newSweeper(t, store, onceward.SweeperOptions{}).RunOnce(t.Context()); n != 0 || err != nil {
		t.Errorf("RunOnce: %d, %v", n, err)
	}
}

// batches sweeps as many as are listed, one number a batch, and notes when.
type batches struct {
	began time.Time
	sizes []int
	at    []time.Duration
	err   error // of the batch after the last
}

func (b *batches) sweep(context.Context, time.Duration, int) (int, error) {
	b.at = append(b.at, time.Since(b.began))
	if len(b.sizes) == 0 {
		return 0, b.err
	}
	n := b.sizes[0]
	b.sizes = b.sizes[1:]
	return n, nil
}

func TestRunOncePacesItsBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := newProbe(), &batches{began: time.Now(), sizes: []int{10, 10, 10, 3, 10}}
		store.onSweep = b.sweep
		n, err := newSweeper(t, store, onceward.SweeperOptions{BatchMax: 10, Pause: 100 * time.Millisecond}).RunOnce(t.Context())
		if n != 33 || err != nil {
			t.Errorf("RunOnce: %d, %v; want 33", n, err)
		}
		if want := []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond}; !slices.Equal(b.at, want) {
			t.Errorf("the batches came at %v, want %v", b.at, want)
		}
	})
}

func TestRunOnceEndsWithItsContextAndWithAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := newProbe(), &batches{sizes: []int{10, 10, 10}, err: errWork}
		store.onSweep = b.sweep
		sweeper := newSweeper(t, store, onceward.SweeperOptions{BatchMax: 10, Pause: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		n, err := sweeper.RunOnce(ctx)
		wantError(t, err, context.DeadlineExceeded)
		wantCount(t, "deleted until then", int64(n), 20)
		n, err = sweeper.RunOnce(t.Context())
		wantError(t, err, errWork)
		wantCount(t, "deleted until the error", int64(n), 10)
	})
}

func TestRunSweepsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, b := newProbe(), &batches{began: time.Now(), err: errWork} // each fails; the next is tried all the same
		store.onSweep = b.sweep
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()
		err := newSweeper(t, store, onceward.SweeperOptions{}).Run(ctx)
		wantError(t, err, context.DeadlineExceeded)
		if want := []time.Duration{0, time.Minute, 2 * time.Minute}; !slices.Equal(b.at, want) {
			t.Errorf("the sweeps came at %v, want %v", b.at, want)
		}
	})
}

// A sweeper leaves what may still be asked for; what it takes was over.
func TestSweeperDeletesWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, c := newProbe(), hasty.For(alice, "k", nil)
		e, recorded := newEngine(t, store, onceward.Options{}), &recorder{}
		do(t.Context(), e, c, says("ok")).wants(t, "ok", false)
		sweeper, err := newEngine(t, store, onceward.Options{Observer: recorded}).Sweeper(onceward.SweeperOptions{Grace: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(hasty.Retention + time.Minute)
		if n, err := sweeper.RunOnce(t.Context()); n != 0 || err != nil {
			t.Errorf("in the grace %d were deleted, %v", n, err)
		}
		if left := recorded.last(onceward.StepSweep); left.Note != onceward.NoteBacklog || *left.Backlog != (onceward.Backlog{Records: 1, Oldest: time.Minute}) {
			t.Errorf("of what is left the observer was told %+v, %+v", left, left.Backlog)
		}
		time.Sleep(time.Nanosecond)
		if n, err := sweeper.RunOnce(t.Context()); n != 1 || err != nil {
			t.Errorf("after the grace %d were deleted, %v", n, err)
		}
		sweep, left := recorded.ends[len(recorded.ends)-2], recorded.last(onceward.StepSweep)
		if sweep.Deleted != 1 || sweep.Operation != "" || sweep.ID != "" || *left.Backlog != (onceward.Backlog{}) {
			t.Errorf("the observer was told %+v and %+v", sweep, left.Backlog)
		}
	})
}
