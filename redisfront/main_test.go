package redisfront_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/memstore"
	"github.com/onceward/onceward/redisfront"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

var (
	hasty   = &onceward.Operation{Name: "create-order.v1", Retention: time.Hour}
	patient = &onceward.Operation{Name: "create-order.v1", Retention: time.Hour, Wait: 20 * time.Second}
	alice   = onceward.Scope{Tenant: "acme", Principal: "alice"}

	errWork = errors.New("the work failed")
)

// patience is how long these tests wait for Redis: the machine may be busy, and what is tested is not how fast it is.
var patience = redisfront.Options{ClaimTimeout: 20 * time.Second, LeaveTimeout: 20 * time.Second, HolderBelieved: 30 * time.Second}

type (
	tx    struct{}
	store = memstore.Store[*tx]
)

// newStore is a database without rows: these tests count what the works do.
func newStore() *store { return memstore.New(func() *tx { return new(tx) }) }

func newFront(t *testing.T, connect rueidis.ClientOption, options redisfront.Options) *redisfront.Front {
	t.Helper()
	front, err := redisfront.New(connect, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(front.Close)
	return front
}

func at(redis *dbtest.Redis) rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{redis.Addr()}}
}

// process is an engine with a memory of its own, as another process has it.
func process(t *testing.T, s *store, front onceward.Front) *onceward.Engine[*tx] {
	t.Helper()
	engine, err := onceward.New(s, onceward.Options{Front: front})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// says is a work with an outcome, which counts.
func says(answer string, count *atomic.Int64) onceward.Work[*tx] {
	return func(context.Context, *tx) (onceward.Outcome, error) {
		count.Add(1)
		return onceward.Outcome{Kind: "text", Data: []byte(answer)}, nil
	}
}

func never(t *testing.T) onceward.Work[*tx] {
	return func(context.Context, *tx) (onceward.Outcome, error) {
		t.Error("the work ran; it should not have")
		return onceward.Outcome{}, errWork
	}
}

func wantAnswer(t *testing.T, e *onceward.Engine[*tx], c onceward.Command, work onceward.Work[*tx], answer string, replayed bool) {
	t.Helper()
	result, err := e.Do(t.Context(), c, work)
	if err != nil || string(result.Outcome.Data) != answer || result.Replayed != replayed {
		t.Errorf("%q (replayed: %t), %v; want %q (%t)", result.Outcome.Data, result.Replayed, err, answer, replayed)
	}
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("the error is %v, want %v", got, want)
	}
}

// command runs a command in Redis, which must succeed.
func command(t *testing.T, redis *dbtest.Redis, words ...string) string {
	t.Helper()
	answer, err := redis.Command(words...)
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	return answer
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
