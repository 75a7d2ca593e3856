package redisfront_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/rueidis"

	"github.com/onceward/onceward/internal/dbtest"
)

// Where Redis holds the business data itself, there is no transaction to put a record into, and onceward's engine has no
// part in it. What can be done is done by one script: it checks, changes and saves, and all its keys are in one slot, by
// the hash tag of what they are about. It is best effort: what Redis has forgotten (a crash before the log was flushed, a
// fail-over, an eviction) is done again. Money needs a database.
//
// Redis does not take back what a script has written before it failed. So the script says first that it has begun, and
// that is what a retry finds where it has not come to its end: nobody knows then what was changed, and nothing is changed
// again.
var reserve = rueidis.NewLuaScript(`
local stock, result, log = KEYS[1], KEYS[2], KEYS[3]
local saved = redis.call('GET', result)
if saved then return saved end
local left = tonumber(redis.call('GET', stock) or '0') - tonumber(ARGV[1])
if left < 0 then return 'refused' end
redis.call('SET', result, 'begun', 'PX', ARGV[2])
redis.call('SET', stock, left)
redis.call('RPUSH', log, ARGV[1])
saved = 'reserved ' .. ARGV[1] .. ', ' .. left .. ' left'
redis.call('SET', result, saved, 'PX', ARGV[2])
return saved`)

var (
	errRefused = errors.New("there are not so many left")
	errUnknown = errors.New("an earlier attempt ended in its middle: what it changed has to be looked up")
)

// reserveOnce reserves pieces of a SKU under the id of the action, for which a retry is answered for a day.
func reserveOnce(ctx context.Context, redis rueidis.Client, sku, action string, pieces int) (string, error) {
	tag := "{" + sku + "}"
	keys := []string{"stock:" + tag, "result:" + tag + ":" + action, "log:" + tag}
	const dayMillis = "86400000"
	answer, err := reserve.Exec(ctx, redis, keys, []string{strconv.Itoa(pieces), dayMillis}).ToString()
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", errUnknown, err) // whether the script ran, and how far, is not known: ask again
	case answer == "begun":
		return "", errUnknown
	case answer == "refused":
		return "", errRefused
	}
	return answer, nil
}

// Redis alone: check, change and save in one script.
func Example_redisAlone() {
	server, err := dbtest.NewRedis(dbtest.RedisOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	redis, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer redis.Close()
	ctx := context.Background()
	redis.Do(ctx, redis.B().Set().Key("stock:{BOOK}").Value("5").Build())
	fmt.Println(reserveOnce(ctx, redis, "BOOK", "action-1", 2))
	fmt.Println(reserveOnce(ctx, redis, "BOOK", "action-1", 2)) // the answer was lost: asked again
	fmt.Println(reserveOnce(ctx, redis, "BOOK", "action-2", 9))
	// Output:
	// reserved 2, 3 left <nil>
	// reserved 2, 3 left <nil>
	//  there are not so many left
}

func client(t *testing.T, server *dbtest.Redis) rueidis.Client {
	t.Helper()
	redis, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Close)
	return redis
}

func TestR3_9_TwentyAtOnceReserveOnce(t *testing.T) {
	t.Parallel()
	server := dbtest.StartRedis(t, dbtest.RedisOptions{})
	redis := client(t, server)
	command(t, server, "SET", "stock:{BOOK}", "100")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if answer, err := reserveOnce(t.Context(), redis, "BOOK", "action-1", 2); answer != "reserved 2, 98 left" {
				t.Error(answer, err)
			}
		})
	}
	all.Wait()
	if left, log := command(t, server, "GET", "stock:{BOOK}"), command(t, server, "LRANGE", "log:{BOOK}", "0", "-1"); left != "98" || log != "2" {
		t.Errorf("%s are left, logged was %q", left, log)
	}
}

// The script fails when the stock is changed already. That is found and said, now and on a retry, and nothing is taken twice.
func TestR3_9_ScriptThatWrotePartiallyIsFound(t *testing.T) {
	t.Parallel()
	server := dbtest.StartRedis(t, dbtest.RedisOptions{})
	redis := client(t, server)
	command(t, server, "SET", "stock:{BOOK}", "100")
	command(t, server, "SET", "log:{BOOK}", "not a list")
	for range 3 {
		if answer, err := reserveOnce(t.Context(), redis, "BOOK", "action-1", 2); !errors.Is(err, errUnknown) {
			t.Errorf("%q, %v; want it said that the end is unknown", answer, err)
		}
	}
	if left := command(t, server, "GET", "stock:{BOOK}"); left != "98" {
		t.Errorf("%s are left, want 98: taken once, and not given back", left)
	}
	command(t, server, "DEL", "log:{BOOK}")
	if answer, err := reserveOnce(t.Context(), redis, "BOOK", "action-2", 2); err != nil || !strings.HasPrefix(answer, "reserved") {
		t.Errorf("another action: %q, %v", answer, err)
	}
}

// All keys of one script are in one slot, or a cluster would refuse it.
func TestR3_9_KeysAreInOneSlot(t *testing.T) {
	t.Parallel()
	server := dbtest.StartRedis(t, dbtest.RedisOptions{Settings: []string{"cluster-enabled yes"}})
	command(t, server, "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	await(t, "the cluster is whole", func() bool {
		return strings.Contains(command(t, server, "CLUSTER", "INFO"), "cluster_state:ok")
	})
	redis := client(t, server)
	for _, sku := range []string{"BOOK", "PEN", "INK"} {
		command(t, server, "SET", "stock:{"+sku+"}", "1")
		if answer, err := reserveOnce(t.Context(), redis, sku, "action-1", 1); answer != "reserved 1, 0 left" {
			t.Error(answer, err)
		}
	}
}
