package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// One operation, asked for by callers that do not wait, that wait as long as it takes, and that give up soon.
var (
	hasty   = &onceward.Operation{Name: "storetest.v1", Retention: time.Hour}
	patient = &onceward.Operation{Name: "storetest.v1", Retention: time.Hour, Wait: onceward.WaitMax}
	brief   = &onceward.Operation{Name: "storetest.v1", Retention: time.Hour, Wait: 50 * time.Millisecond}
	alice   = onceward.Scope{Tenant: "acme", Principal: "alice"}
)

// with is a copy of o that change has changed.
func with(o *onceward.Operation, change func(*onceward.Operation)) *onceward.Operation {
	changed := *o
	change(&changed)
	return &changed
}

// fixture is a harness with the words that the tests are written in.
type fixture[Tx any] struct {
	Harness[Tx]
	lacks []Feature
}

func (f *fixture[Tx]) has(feature Feature) bool { return !slices.Contains(f.lacks, feature) }

// engine is a fresh process: it remembers nothing. A work that writes and is taken for one that missed its transaction
// fails the test.
func (f *fixture[Tx]) engine(t testing.TB) *onceward.Engine[Tx] {
	t.Helper()
	return engineOn(t, f.Store, onceward.Options{FailUntouched: true})
}

func engineOn[Tx any](t testing.TB, store onceward.Store[Tx], o onceward.Options) *onceward.Engine[Tx] {
	t.Helper()
	engine, err := onceward.New(store, o)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// engines are two fresh engines on the store, and two on a store of another process where there can be one.
func (f *fixture[Tx]) engines(t testing.TB) []*onceward.Engine[Tx] {
	t.Helper()
	engines := []*onceward.Engine[Tx]{f.engine(t), f.engine(t)}
	if f.has(Processes) {
		another := f.Another(t)
		for range 2 {
			engines = append(engines, engineOn(t, another, onceward.Options{FailUntouched: true}))
		}
	}
	return engines
}

// writes is a work with one effect under key.
func (f *fixture[Tx]) writes(key, answer string) onceward.Work[Tx] {
	return func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		return outcome(answer), f.Write(ctx, tx, key)
	}
}

// counts is writes with an answer that no other run gives.
func (f *fixture[Tx]) counts(key string, runs *atomic.Int64) onceward.Work[Tx] {
	return func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		return outcome(key + " run " + strconv.FormatInt(runs.Add(1), 10)), f.Write(ctx, tx, key)
	}
}

func outcome(answer string) onceward.Outcome {
	return onceward.Outcome{Kind: "storetest", Data: []byte(answer)}
}

// unreachable is a work that must not be run.
func unreachable[Tx any](t testing.TB) onceward.Work[Tx] {
	return func(context.Context, Tx) (onceward.Outcome, error) {
		t.Error("the work ran; it should not have")
		return onceward.Outcome{}, errors.New("the work should not have run")
	}
}

// must takes c through the engine, which has to succeed.
func must[Tx any](t testing.TB, e *onceward.Engine[Tx], c onceward.Command, work onceward.Work[Tx]) onceward.Result {
	t.Helper()
	result, err := e.Do(t.Context(), c, work)
	if err != nil {
		t.Fatalf("Do: %v", err)
	}
	return result
}

// replays has c answered by a fresh engine with the answer that was saved.
func (f *fixture[Tx]) replays(t testing.TB, c onceward.Command, answer string) {
	t.Helper()
	wantAnswer(t, must(t, f.engine(t), c, unreachable[Tx](t)), answer, true)
}

// runs has c run by a fresh engine, because nothing stands in its way.
func (f *fixture[Tx]) runs(t testing.TB, c onceward.Command, key, answer string) {
	t.Helper()
	wantAnswer(t, must(t, f.engine(t), c, f.writes(key, answer)), answer, false)
}

// fails has c refused by a fresh engine with want; the work does not run.
func (f *fixture[Tx]) fails(t testing.TB, c onceward.Command, want error) {
	t.Helper()
	_, err := f.engine(t).Do(t.Context(), c, unreachable[Tx](t))
	wantError(t, err, want)
}

func (f *fixture[Tx]) wantEffects(t testing.TB, key string, want int) {
	t.Helper()
	if got := f.Effects(t, key); got != want {
		t.Errorf("effects under %.60q: %d, want %d", key, got, want)
	}
}

func (f *fixture[Tx]) wantRecords(t testing.TB, want int) {
	t.Helper()
	if got := f.Records(t); got != want {
		t.Errorf("records: %d, want %d", got, want)
	}
}

func wantAnswer(t testing.TB, got onceward.Result, answer string, replayed bool) {
	t.Helper()
	if got.Outcome.Kind != "storetest" || !bytes.Equal(got.Outcome.Data, []byte(answer)) {
		t.Errorf("the outcome is %s %.60q, want storetest %.60q", got.Outcome.Kind, got.Outcome.Data, answer)
	}
	if got.Replayed != replayed {
		t.Errorf("replayed: %t, want %t", got.Replayed, replayed)
	}
}

func wantError(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("the error is %v, want %v", got, want)
	}
}
