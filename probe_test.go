package onceward_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/memstore"
)

// tx is a transaction that nothing is written to; storetest asks for effects, these tests for the engine's flow.
type tx struct{}

// probe is a memstore that counts what the engine asks of it, and fails where a test says so.
type probe struct {
	*memstore.Store[*tx]
	claims, saves, rollbacks atomic.Int64

	onClaim    func(n int64) error                                                // before the n-th claim
	onSave     func(ctx context.Context, save func() (bool, error)) (bool, error) // instead of save
	onRollback func(ctx context.Context)
	onSweep    func(ctx context.Context, grace time.Duration, limit int) (int, error)
}

func newProbe() *probe { return &probe{Store: memstore.New(func() *tx { return new(tx) })} }

func (p *probe) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[*tx], *onceward.Record, error) {
	n := p.claims.Add(1)
	if p.onClaim != nil {
		if err := p.onClaim(n); err != nil {
			return nil, nil, err
		}
	}
	attempt, record, err := p.Store.Claim(ctx, want, wait)
	if attempt != nil {
		attempt = &probed{attempt, p}
	}
	return attempt, record, err
}

func (p *probe) Join(ctx context.Context, own *tx, want *onceward.Record) (onceward.Attempt[*tx], *onceward.Record, error) {
	attempt, record, err := p.Store.Join(ctx, own, want)
	if attempt != nil {
		attempt = &probed{attempt, p}
	}
	return attempt, record, err
}

func (p *probe) Sweep(ctx context.Context, grace time.Duration, limit int) (int, error) {
	if p.onSweep != nil {
		return p.onSweep(ctx, grace, limit)
	}
	return p.Store.Sweep(ctx, grace, limit)
}

type probed struct {
	onceward.Attempt[*tx]
	probe *probe
}

func (a *probed) Save(ctx context.Context, o onceward.Outcome) (bool, error) {
	a.probe.saves.Add(1)
	save := func() (bool, error) { return a.Attempt.Save(ctx, o) }
	if a.probe.onSave != nil {
		return a.probe.onSave(ctx, save)
	}
	return save()
}

func (a *probed) Rollback(ctx context.Context) error {
	a.probe.rollbacks.Add(1)
	if a.probe.onRollback != nil {
		a.probe.onRollback(ctx)
	}
	return a.Attempt.Rollback(ctx)
}

// The operation and the callers of these tests.
var (
	hasty   = &onceward.Operation{Name: "create-order.v1", Retention: time.Hour}
	patient = &onceward.Operation{Name: "create-order.v1", Retention: time.Hour, Wait: 20 * time.Second}
	alice   = onceward.Scope{Tenant: "acme", Principal: "alice"}

	errWork = errors.New("the work failed")
)

func newEngine(t testing.TB, store onceward.Store[*tx], o onceward.Options) *onceward.Engine[*tx] {
	t.Helper()
	engine, err := onceward.New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// says is a work with an outcome.
func says(answer string) onceward.Work[*tx] {
	return func(context.Context, *tx) (onceward.Outcome, error) {
		return onceward.Outcome{Kind: "text", Data: []byte(answer)}, nil
	}
}

// never is a work that must not run.
func never(t testing.TB) onceward.Work[*tx] {
	return func(context.Context, *tx) (onceward.Outcome, error) {
		t.Error("the work ran; it should not have")
		return onceward.Outcome{}, errWork
	}
}

type reply struct {
	result onceward.Result
	err    error
}

// do takes c through the engine.
func do(ctx context.Context, e *onceward.Engine[*tx], c onceward.Command, work onceward.Work[*tx]) reply {
	result, err := e.Do(ctx, c, work)
	return reply{result, err}
}

// begin is do in a goroutine of its own.
func begin(ctx context.Context, e *onceward.Engine[*tx], c onceward.Command, work onceward.Work[*tx]) chan reply {
	replied := make(chan reply, 1)
	go func() { replied <- do(ctx, e, c, work) }()
	return replied
}

func (r reply) wants(t testing.TB, answer string, replayed bool) {
	t.Helper()
	if r.err != nil {
		t.Errorf("Do: %v, want the answer %q", r.err, answer)
	} else if got := string(r.result.Outcome.Data); got != answer || r.result.Replayed != replayed {
		t.Errorf("Do: %q (replayed: %t), want %q (%t)", got, r.result.Replayed, answer, replayed)
	}
}

func (r reply) fails(t testing.TB, want error) {
	t.Helper()
	wantError(t, r.err, want)
	if r.result.Replayed || r.result.Outcome.Data != nil {
		t.Errorf("with the error comes %+v", r.result)
	}
}

func wantError(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("the error is %v, want %v", got, want)
	}
}

func wantCount(t testing.TB, what string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d, want %d", what, got, want)
	}
}
