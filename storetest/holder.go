package storetest

import (
	"context"
	"testing"

	"github.com/onceward/onceward"
)

// reply is what Do returned.
type reply struct {
	result onceward.Result
	err    error
}

// holder is an attempt that has written its effect and stands still in its work.
type holder struct {
	release chan error
	replied chan reply
}

// hold starts c on the engine and returns once its work has written one effect under key and stands still.
func hold[Tx any](t testing.TB, f *fixture[Tx], e *onceward.Engine[Tx], c onceward.Command, key, answer string) *holder {
	t.Helper()
	h := &holder{release: make(chan error, 1), replied: make(chan reply, 1)}
	entered := make(chan struct{})
	go func() {
		result, err := e.Do(context.WithoutCancel(t.Context()), c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			err := f.Write(ctx, tx, key)
			close(entered)
			if err != nil {
				return onceward.Outcome{}, err
			}
			return outcome(answer), <-h.release
		})
		h.replied <- reply{result, err}
	}()
	select {
	case <-entered:
	case r := <-h.replied:
		t.Fatalf("the holder's work did not run: %v", r.err)
	}
	t.Cleanup(func() { h.let(context.Canceled) })
	return h
}

// let lets the work go on and return err, unless it was let go before.
func (h *holder) let(err error) {
	select {
	case h.release <- err:
	default:
	}
}

// end lets the work return err and gives what Do returned.
func (h *holder) end(err error) reply {
	h.let(err)
	return <-h.replied
}

// contend starts c on the engine and returns once its claim is under way.
func contend[Tx any](t testing.TB, store onceward.Store[Tx], c onceward.Command, work onceward.Work[Tx]) chan reply {
	t.Helper()
	claims := claimSignal(make(chan struct{}, 1))
	e := engineOn(t, store, onceward.Options{Observer: claims})
	replied := make(chan reply, 1)
	go func() {
		result, err := e.Do(context.WithoutCancel(t.Context()), c, work)
		replied <- reply{result, err}
	}()
	<-claims
	return replied
}

// claimSignal is an observer that tells when a claim starts.
type claimSignal chan struct{}

func (s claimSignal) Start(ctx context.Context, e onceward.Event) context.Context {
	if e.Step == onceward.StepClaim {
		select {
		case s <- struct{}{}:
		default:
		}
	}
	return ctx
}

func (claimSignal) End(context.Context, onceward.Event) {}
