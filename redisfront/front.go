package redisfront

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/sony/gobreaker/v2"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// claimScript reads the result, or else takes the lock, or else reads who has it. It answers nothing where the lock was
// won. Nobody comes between its steps.
var claimScript = rueidis.NewLuaScript(`
local result = redis.call('GET', KEYS[1])
if result then return {'result', result, redis.call('PTTL', KEYS[1])} end
if redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return {} end
return {'lock', redis.call('GET', KEYS[2]), redis.call('PTTL', KEYS[2])}`)

// leaveScript writes the result, if there is one, and deletes the lock if it is still ours: also where there is no room to
// write, which is said afterwards.
var leaveScript = rueidis.NewLuaScript(`
local wrote = true
if ARGV[2] ~= '' then wrote = redis.pcall('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
return wrote`)

var errClosed = errors.New("redisfront: the front is closed")

// Front is an onceward.Front in Redis. It is safe for concurrent use. It connects when it is first used.
type Front struct {
	options Options
	breaker *gobreaker.CircuitBreaker[[]rueidis.RedisMessage]

	connect rueidis.ClientOption
	client  atomic.Pointer[rueidis.Client] // nil until it is connected

	mu     sync.Mutex // while it connects
	closed bool

	why struct {
		sync.Mutex
		err error // the latest failure
	}
}

var _ onceward.Front = (*Front)(nil)

// New makes a front in the Redis that connect leads to: one server, the master that Sentinel knows, or a cluster. Redis
// need not be there yet.
func New(connect rueidis.ClientOption, options Options) (*Front, error) {
	if len(connect.InitAddress) == 0 {
		return nil, errors.New("redisfront: New needs an address of Redis")
	}
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	connect.DisableCache = true // a process remembers what it was answered anyway
	connect.DisableRetry = true // there is no time for a second try
	f := &Front{options: options, connect: connect}
	f.breaker = gobreaker.NewCircuitBreaker[[]rueidis.RedisMessage](gobreaker.Settings{
		Timeout:       options.ProbeEvery,
		ReadyToTrip:   func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= uint32(options.FailuresMax) },
		IsSuccessful:  answers,
		OnStateChange: f.changed,
	})
	return f, nil
}

// Close ends the connections. The front fails from then on, and an engine skips it.
func (f *Front) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if client := f.client.Load(); client != nil {
		(*client).Close()
	}
}

// Check says what keeps Redis from being used, within a second: no server, a wrong password. It is for the start of a program,
// which need not end for it.
func (f *Front) Check(ctx context.Context) error {
	_, err := f.within(ctx, time.Second, func(ctx context.Context, client rueidis.Client) rueidis.RedisResult {
		return client.Do(ctx, client.B().Ping().Build())
	})
	if err != nil {
		return fmt.Errorf("redisfront: check: %w", err)
	}
	return nil
}

// Claim implements onceward.Front.
func (f *Front) Claim(ctx context.Context, want *onceward.Record) (*onceward.Record, *fingerprint.Fingerprint, error) {
	answer, err := f.run(ctx, f.options.ClaimTimeout, claimScript, want, milliseconds(f.options.HoldLife))
	if err != nil || len(answer) == 0 {
		return nil, nil, err
	}
	kind, _ := answer[0].ToString()
	switch {
	case kind == "result" && len(answer) == 3:
		record, err := f.read(want.ID, answer[1], answer[2])
		return record, nil, err
	case kind == "lock" && len(answer) == 3:
		holder, err := f.holder(answer[1], answer[2])
		return nil, holder, err
	}
	return nil, nil, errRecord
}

// holder is who has the lock, or nobody where it is so old that its owner may have died.
func (f *Front) holder(value, life rueidis.RedisMessage) (*fingerprint.Fingerprint, error) {
	left, err := life.AsInt64()
	if err != nil || f.options.HoldLife-time.Duration(left)*time.Millisecond > f.options.HolderBelieved {
		return nil, err
	}
	text, err := value.ToString()
	if err != nil {
		return nil, errRecord
	}
	return holderOf(text)
}

func (f *Front) read(id onceward.ID, value, life rueidis.RedisMessage) (*onceward.Record, error) {
	text, err := value.ToString()
	if err != nil {
		return nil, errRecord
	}
	record, err := decode(id, text)
	if err != nil {
		return nil, err
	}
	left, err := life.AsInt64() // negative for a key without an end, which is not ours
	record.Life = time.Duration(left) * time.Millisecond
	return record, err
}

// Leave implements onceward.Front.
func (f *Front) Leave(ctx context.Context, want, saved *onceward.Record) error {
	value, life := []byte(nil), time.Duration(0)
	if saved != nil && saved.Life >= time.Millisecond {
		var err error
		if value, err = encode(saved); err != nil {
			return err
		}
		life = min(saved.Life, f.options.RecordLifeMax)
	}
	if len(value) > f.options.RecordBytesMax {
		value = nil
	}
	_, err := f.run(ctx, f.options.LeaveTimeout, leaveScript, want, string(value), milliseconds(life))
	return err
}

// run has a script run for a command, unless Redis has failed too often just now.
func (f *Front) run(ctx context.Context, timeout time.Duration, script *rueidis.Lua, want *onceward.Record, arguments ...string) ([]rueidis.RedisMessage, error) {
	arguments = append([]string{lockValue(want)}, arguments...)
	answer, err := f.breaker.Execute(func() ([]rueidis.RedisMessage, error) {
		answer, err := f.within(ctx, timeout, func(ctx context.Context, client rueidis.Client) rueidis.RedisResult {
			return script.Exec(ctx, client, keys(want), arguments)
		})
		if err != nil {
			f.failed(err)
		}
		return answer, err
	})
	if err != nil {
		return nil, fmt.Errorf("redisfront: %w", err)
	}
	return answer, nil
}

// within makes a call that nobody cancels and that takes no longer than timeout.
func (f *Front) within(ctx context.Context, timeout time.Duration, call func(context.Context, rueidis.Client) rueidis.RedisResult) ([]rueidis.RedisMessage, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	client, err := f.connected(ctx)
	if err != nil {
		return nil, err
	}
	result := call(ctx, client)
	if err := result.Error(); err != nil {
		return nil, err
	}
	list, _ := result.ToArray() // nothing where the answer is no list
	return list, nil
}

// connected returns the client. The first who want it have it made, and wait for that as long as they may: connecting to a
// server that hangs takes longer. Redis being away then is a failure like any other.
func (f *Front) connected(ctx context.Context) (rueidis.Client, error) {
	if client := f.client.Load(); client != nil {
		return *client, nil
	}
	made := make(chan error, 1)
	go func() { made <- f.makeClient() }()
	select {
	case err := <-made:
		if err != nil {
			return nil, err
		}
		return *f.client.Load(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *Front) makeClient() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return errClosed
	case f.client.Load() != nil:
		return nil
	}
	client, err := rueidis.NewClient(f.connect)
	if err == nil {
		f.client.Store(&client)
	}
	return err
}

// answers tells whether Redis is there: an error of its own, about one key or for want of room, costs no time.
func answers(err error) bool {
	_, own := rueidis.IsRedisErr(err)
	return err == nil || own
}

func (f *Front) failed(err error) {
	f.why.Lock()
	defer f.why.Unlock()
	f.why.err = err
}

func (f *Front) changed(_ string, _, to gobreaker.State) {
	f.why.Lock()
	defer f.why.Unlock()
	switch to {
	case gobreaker.StateOpen:
		f.options.Report(fmt.Errorf("redisfront: Redis is left alone for %v at a time: %w", f.options.ProbeEvery, f.why.err))
	case gobreaker.StateClosed:
		f.options.Report(nil)
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
