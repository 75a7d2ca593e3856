package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/onceward/onceward"
)

func cancelTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "F03 a caller that hangs up before the work leaves no claim", run: cancelBefore[Tx]},
		{name: "F03 a caller that hangs up in the work leaves no claim", run: cancelIn[Tx]},
		{name: "F03 a caller that hangs up before a statement leaves no claim", run: cancelStatement[Tx]},
		{name: "F03 a caller that hangs up after the work is recorded all the same", run: cancelAfter[Tx]},
	}
}

func cancelBefore[Tx any](t *testing.T, f *fixture[Tx]) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := hasty.For(alice, "k", nil)
	if _, err := f.engine(t).Do(ctx, c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		return onceward.Outcome{}, errors.Join(ctx.Err(), f.Write(ctx, tx, "k"))
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, want %v", err, context.Canceled)
	}
	f.leavesNothing(t, patient.For(alice, "k", nil), "k")
}

func cancelIn[Tx any](t *testing.T, f *fixture[Tx]) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := f.engine(t).Do(ctx, hasty.For(alice, "k", nil), func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		if err := f.Write(ctx, tx, "k"); err != nil {
			return onceward.Outcome{}, err
		}
		cancel()
		<-ctx.Done()
		return onceward.Outcome{}, ctx.Err()
	})
	wantError(t, err, context.Canceled)
	f.leavesNothing(t, hasty.For(alice, "k", nil), "k")
}

// cancelStatement: a driver may answer a cancelled context by closing the connection, so that the server learns of the
// end a moment later; the retry waits for that.
func cancelStatement[Tx any](t *testing.T, f *fixture[Tx]) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := f.engine(t).Do(ctx, hasty.For(alice, "k", nil), func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		first := f.Write(ctx, tx, "k")
		cancel()
		return onceward.Outcome{}, errors.Join(first, f.Write(ctx, tx, "k"), ctx.Err())
	})
	wantError(t, err, context.Canceled)
	f.leavesNothing(t, patient.For(alice, "k", nil), "k")
}

func cancelAfter[Tx any](t *testing.T, f *fixture[Tx]) {
	ctx, cancel := context.WithCancel(t.Context())
	c := hasty.For(alice, "k", nil)
	result, err := f.engine(t).Do(ctx, c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		err := f.Write(ctx, tx, "k")
		cancel()
		return outcome("accepted"), err
	})
	wantReply(t, reply{result, err}, "accepted", false)
	f.replays(t, c, "accepted")
	f.wantEffects(t, "k", 1)
	f.wantRecords(t, 1)
}
