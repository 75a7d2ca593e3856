package redisfront_test

import (
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/redisfront"
)

// The two keys of a command, found without knowing its digest.
const (
	resultKeys = "idem:result:create-order.v1:{*}"
	lockKeys   = "idem:lock:create-order.v1:{*}"
)

func TestR1_3_LockWhileItRunsThenTheResult(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	engine := process(t, newStore(), newFront(t, at(redis), patience))
	c := hasty.For(alice, "SECRET-KEY", "two books")
	result, err := engine.Do(t.Context(), c, func(context.Context, *tx) (onceward.Outcome, error) {
		lock := command(t, redis, "KEYS", lockKeys)
		if value := command(t, redis, "GET", lock); !regexp.MustCompile(`^[0-9a-f]+\.[0-9a-f]{64}:[0-9a-f]{32}$`).MatchString(value) {
			t.Errorf("the lock holds %q, want fingerprint:ownerToken", value)
		}
		if ttl := number(t, command(t, redis, "PTTL", lock)); ttl <= 20_000 || ttl > 30_000 {
			t.Errorf("the lock lives %d ms, want 30 s", ttl)
		}
		if keys := command(t, redis, "KEYS", resultKeys); keys != "" {
			t.Errorf("before the commit there is %q", keys)
		}
		return onceward.Outcome{Kind: "text", Data: []byte("accepted")}, nil
	})
	if err != nil || result.Replayed {
		t.Fatal(result, err)
	}
	if keys := command(t, redis, "KEYS", lockKeys); keys != "" {
		t.Errorf("after the answer there is %q", keys)
	}
	all := command(t, redis, "KEYS", "*")
	if !regexp.MustCompile(`^idem:result:create-order\.v1:\{[0-9a-f]{32}\}$`).MatchString(all) {
		t.Errorf("the keys are %q, want the result's alone, named by a digest", all)
	}
	if ttl := number(t, command(t, redis, "PTTL", all)); ttl <= 3_500_000 || ttl > 3_600_000 {
		t.Errorf("the result lives %d ms, want the operation's hour at most", ttl)
	}
}

func TestResultLivesADayAtMost(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	engine := process(t, newStore(), newFront(t, at(redis), patience))
	long := &onceward.Operation{Name: "create-order.v1", Retention: 30 * 24 * time.Hour}
	wantAnswer(t, engine, long.For(alice, "k", nil), says("accepted", new(atomic.Int64)), "accepted", false)
	if ttl := number(t, command(t, redis, "TTL", command(t, redis, "KEYS", resultKeys))); ttl < 86_000 || ttl > 86_400 {
		t.Errorf("the result lives %d s, want 24 h", ttl)
	}
}

// The other process has a database that knows nothing, so that it is Redis that answers.
func TestR1_3_AnotherProcessReplaysFromRedis(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	front := newFront(t, at(redis), patience)
	wantAnswer(t, process(t, newStore(), front), hasty.For(alice, "k", "two books"), says("accepted", new(atomic.Int64)), "accepted", false)
	other := process(t, newStore(), front)
	wantAnswer(t, other, hasty.For(alice, "k", "two books"), never(t), "accepted", true)
	_, err := process(t, newStore(), front).Do(t.Context(), hasty.For(alice, "k", "three books"), never(t))
	wantError(t, err, onceward.ErrKeyReused)
	for _, foreign := range []onceward.Scope{{Tenant: "acme", Principal: "bob"}, {Tenant: "globex", Principal: "alice"}} {
		wantAnswer(t, other, hasty.For(foreign, "k", "two books"), says("their own", new(atomic.Int64)), "their own", false)
	}
}

// R1.5, F06: while the first attempt runs at another process.
func TestF06_HolderAtAnotherProcess(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	front, database := newFront(t, at(redis), patience), newStore()
	_, err := process(t, database, front).Do(t.Context(), hasty.For(alice, "k", "two books"), func(ctx context.Context, _ *tx) (onceward.Outcome, error) {
		for meaning, want := range map[string]error{"two books": onceward.ErrInFlight, "three books": onceward.ErrKeyReused} {
			_, err := process(t, database, front).Do(ctx, hasty.For(alice, "k", meaning), never(t))
			wantError(t, err, want)
		}
		return onceward.Outcome{}, errWork
	})
	wantError(t, err, errWork)
	if keys := command(t, redis, "KEYS", "*"); keys != "" {
		t.Errorf("a rollback leaves %q", keys)
	}
	// What was wrong has rolled back: the right one is not refused.
	wantAnswer(t, process(t, database, front), hasty.For(alice, "k", "three books"), says("accepted", new(atomic.Int64)), "accepted", false)
}

// A caller that waits is not refused by a holder that may roll back.
func TestWhoWaitsIsDecidedByTheStore(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	front, database := newFront(t, at(redis), patience), newStore()
	answered, count := make(chan error, 1), new(atomic.Int64)
	_, err := process(t, database, front).Do(t.Context(), hasty.For(alice, "k", "two books"), func(context.Context, *tx) (onceward.Outcome, error) {
		go func() {
			_, err := process(t, database, front).Do(t.Context(), patient.For(alice, "k", "three books"), says("accepted", count))
			answered <- err
		}()
		awaitScripts(t, redis, 2)
		return onceward.Outcome{}, errWork
	})
	wantError(t, err, errWork)
	if err := <-answered; err != nil || count.Load() != 1 {
		t.Errorf("%v, the work ran %d times", err, count.Load())
	}
}

// awaitScripts returns when Redis has run so many scripts.
func awaitScripts(t *testing.T, redis *dbtest.Redis, count int) {
	t.Helper()
	runs := regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+),usec=\d+,usec_per_call=[\d.]+,rejected_calls=\d+,failed_calls=(\d+)`)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		ran := 0
		for _, stat := range runs.FindAllStringSubmatch(command(t, redis, "INFO", "commandstats"), -1) {
			ran += number(t, stat[1]) - number(t, stat[2])
		}
		if ran >= count {
			return
		}
	}
	t.Fatalf("Redis did not run %d scripts", count)
}

// F07: a work outlives its lock, and another has taken it meanwhile. The end of the first leaves the second's alone.
func TestF07_OldOwnerDoesNotDeleteTheNewOnesLock(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	engine := process(t, newStore(), newFront(t, at(redis), patience))
	var lock string
	wantAnswer(t, engine, hasty.For(alice, "k", nil), func(context.Context, *tx) (onceward.Outcome, error) {
		lock = command(t, redis, "KEYS", lockKeys)
		command(t, redis, "SET", lock, "1.00:another")
		return onceward.Outcome{Kind: "text", Data: []byte("accepted")}, nil
	}, "accepted", false)
	if value := command(t, redis, "GET", lock); value != "1.00:another" {
		t.Errorf("the other's lock is %q", value)
	}
}

// F01: a process died and left its lock. That is believed for a moment, then the store is asked.
func TestF01_LockOfADeadProcess(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	options := patience
	options.HolderBelieved, options.HoldLife = 50*time.Millisecond, time.Hour
	front, database := newFront(t, at(redis), options), newStore()
	want := &onceward.Record{ID: hasty.For(alice, "k", nil).ID(), Operation: hasty.Name, Attempt: onceward.Token{1}}
	if _, _, err := front.Claim(t.Context(), want); err != nil { // and dies
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		_, err := process(t, database, front).Do(t.Context(), hasty.For(alice, "k", nil), says("accepted", new(atomic.Int64)))
		if err == nil {
			return
		}
		wantError(t, err, onceward.ErrInFlight)
	}
	t.Error("the lock of a dead process is believed for ever")
}

func TestOversizedRecordIsLeftToTheStore(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	options := patience
	options.RecordBytesMax = 1000
	front, database := newFront(t, at(redis), options), newStore()
	large := strings.Repeat("x", 1000)
	wantAnswer(t, process(t, database, front), hasty.For(alice, "k", nil), says(large, new(atomic.Int64)), large, false)
	if keys := command(t, redis, "KEYS", "*"); keys != "" {
		t.Errorf("there is %q", keys)
	}
	wantAnswer(t, process(t, database, front), hasty.For(alice, "k", nil), never(t), large, true)
}

// Whatever somebody puts in Redis, the answer is the store's.
func TestWhatIsInRedisIsNotBelieved(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	front, database := newFront(t, at(redis), patience), newStore()
	c := hasty.For(alice, "k", "two books")
	wantAnswer(t, process(t, database, front), c, says("accepted", new(atomic.Int64)), "accepted", false)
	mine := command(t, redis, "KEYS", resultKeys)
	value := command(t, redis, "GET", mine)
	wantAnswer(t, process(t, database, front), hasty.For(alice, "another", "two books"), says("another's", new(atomic.Int64)), "another's", false)
	foreign := strings.TrimSpace(strings.ReplaceAll(command(t, redis, "KEYS", resultKeys), mine, ""))
	spoil := map[string]func(){
		"text":           func() { command(t, redis, "SET", mine, "garbage", "PX", "60000") },
		"nothing":        func() { command(t, redis, "SET", mine, "", "PX", "60000") },
		"another format": func() { command(t, redis, "SET", mine, "\x02"+value[1:], "PX", "60000") },
		"no end":         func() { command(t, redis, "SET", mine, value) },
		"another type":   func() { command(t, redis, "DEL", mine); command(t, redis, "RPUSH", mine, "x") },
		"another's":      func() { command(t, redis, "SET", mine, command(t, redis, "GET", foreign), "PX", "60000") },
		"a strange lock": func() {
			command(t, redis, "DEL", mine)
			command(t, redis, "SET", strings.Replace(mine, "result", "lock", 1), "strange")
		},
	}
	for name, spoil := range spoil {
		spoil()
		t.Run(name, func(t *testing.T) {
			wantAnswer(t, process(t, database, front), c, never(t), "accepted", true)
			_, err := process(t, database, front).Do(t.Context(), hasty.For(alice, "k", "three books"), never(t))
			wantError(t, err, onceward.ErrKeyReused)
		})
		command(t, redis, "DEL", strings.Replace(mine, "result", "lock", 1))
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	if _, err := redisfront.New(rueidis.ClientOption{}, redisfront.Options{}); err == nil {
		t.Error("a front without an address was made")
	}
	for _, options := range []redisfront.Options{
		{ClaimTimeout: -1},
		{LeaveTimeout: -1},
		{HoldLife: -1},
		{RecordLifeMax: -1},
		{RecordBytesMax: -1},
		{FailuresMax: -1},
		{ProbeEvery: -1},
		{ProbeEvery: 6 * time.Second},
		{HolderBelieved: -1},
	} {
		if _, err := redisfront.New(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:1"}}, options); err == nil {
			t.Errorf("a front with %+v was made", options)
		}
	}
}
