package redisfront_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/redisfront"
)

// orders sends each of so many commands three times, from several processes at once, while disturb goes on, and reports
// the commands that did not happen once or were not answered alike. An answer may be that the first attempt runs.
func orders(t *testing.T, front onceward.Front, count int, disturb func(i int)) {
	t.Helper()
	database := newStore()
	processes := []*onceward.Engine[*tx]{process(t, database, front), process(t, database, front), process(t, database, front)}
	ran := make([]atomic.Int64, count)
	var next atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				disturb(i)
				var copies sync.WaitGroup
				for _, p := range processes {
					copies.Go(func() { order(t, p, i, &ran[i]) })
				}
				copies.Wait()
			}
		})
	}
	group.Wait()
	for i := range ran {
		if n := ran[i].Load(); n != 1 {
			t.Errorf("order %d was placed %d times", i, n)
		}
	}
}

// order sends an order until it is answered.
func order(t *testing.T, p *onceward.Engine[*tx], i int, ran *atomic.Int64) {
	want := fmt.Sprintf("order %d", i)
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); {
		result, err := p.Do(t.Context(), patient.For(alice, fmt.Sprint(i), want), func(context.Context, *tx) (onceward.Outcome, error) {
			ran.Add(1)
			return onceward.Outcome{Kind: "text", Data: []byte(want + strings.Repeat(".", 6000))}, nil
		})
		switch {
		case err != nil:
			wantError(t, err, onceward.ErrInFlight)
		case !strings.HasPrefix(string(result.Outcome.Data), want+"."):
			t.Errorf("%s: answered %.20q", want, result.Outcome.Data)
			return
		default:
			return
		}
	}
	t.Errorf("%s was not answered", want)
}

func undisturbed(int) {}

// reports is a Report that can be waited for.
func reports() (func(error), chan error) {
	told := make(chan error, 100)
	return func(err error) { told <- err }, told
}

func awaitReport(t *testing.T, told chan error, broken bool) {
	t.Helper()
	for deadline := time.After(30 * time.Second); ; {
		select {
		case err := <-told:
			if (err != nil) == broken {
				return
			}
		case <-deadline:
			t.Fatalf("it was not reported that Redis is broken: %t", broken)
		}
	}
}

func TestF29_RedisIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	report, told := reports()
	front := newFront(t, at(redis), redisfront.Options{Report: report, ProbeEvery: 20 * time.Millisecond})
	database, count := newStore(), new(atomic.Int64)
	c := hasty.For(alice, "k", nil)
	wantAnswer(t, process(t, database, front), c, says("accepted", count), "accepted", false)
	redis.Kill()
	for n := 0; len(told) == 0; n++ {
		wantAnswer(t, process(t, database, front), c, never(t), "accepted", true)
		wantAnswer(t, process(t, database, front), hasty.For(alice, fmt.Sprint(n), nil), says("another", count), "another", false)
	}
	awaitReport(t, told, true)
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	for command(t, redis, "KEYS", "*") == "" { // the replays from the store fill it again
		wantAnswer(t, process(t, database, front), c, never(t), "accepted", true)
	}
	awaitReport(t, told, false)
	wantAnswer(t, process(t, newStore(), front), c, never(t), "accepted", true)
}

func TestRedisIsNotThereYet(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	redis.Stop()
	report, told := reports()
	front := newFront(t, at(redis), redisfront.Options{Report: report, ProbeEvery: 20 * time.Millisecond})
	if err := front.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("before it is there, the check says %v", err)
	}
	orders(t, front, 20, undisturbed)
	awaitReport(t, told, true)
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	if err := front.Check(t.Context()); err != nil {
		t.Errorf("when it is there, the check says %v", err)
	}
	database, count := newStore(), new(atomic.Int64)
	for i := 0; command(t, redis, "KEYS", "*") == ""; i++ {
		key := fmt.Sprint(i)
		wantAnswer(t, process(t, database, front), hasty.For(alice, key, nil), says(key, count), key, false)
	}
}

// A Redis that hangs keeps nobody for long: twenty orders, one after the other.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	front, late := newFront(t, at(redis), redisfront.Options{}), newFront(t, at(redis), redisfront.Options{})
	database, count := newStore(), new(atomic.Int64)
	wantAnswer(t, process(t, database, front), hasty.For(alice, "warm", nil), says("warm", count), "warm", false)
	redis.Pause()
	began := time.Now()
	wantAnswer(t, process(t, database, late), hasty.For(alice, "late", nil), says("late", count), "late", false) // it hangs as it connects
	for i := range 20 {
		key := fmt.Sprint(i)
		wantAnswer(t, process(t, database, front), hasty.For(alice, key, nil), says(key, count), key, false)
	}
	if took := time.Since(began); took > 8*time.Second { // the requirement's own bound
		t.Errorf("twenty orders took %v", took)
	}
	redis.Resume()
	for i := 0; !strings.Contains(command(t, redis, "KEYS", resultKeys), "\n"); i++ {
		key := fmt.Sprint("after", i)
		wantAnswer(t, process(t, database, front), hasty.For(alice, key, nil), says(key, count), key, false)
	}
}

func TestRedisIsFlushedAgainAndAgain(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	orders(t, newFront(t, at(redis), patience), 100, func(int) { command(t, redis, "FLUSHALL") })
}

// F29: Redis is full and drops what it likes, or takes nothing more.
func TestF29_RedisIsFull(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{
		"noeviction", "allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl",
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			redis := dbtest.StartRedis(t, dbtest.RedisOptions{Settings: []string{"maxmemory 2mb", "maxmemory-policy " + policy}})
			orders(t, newFront(t, at(redis), patience), 300, undisturbed)
			stats := command(t, redis, "INFO", "stats") + command(t, redis, "INFO", "errorstats")
			if strings.Contains(stats, "evicted_keys:0") && !strings.Contains(stats, "errorstat_OOM") {
				t.Error("Redis was not full: nothing was put to the test")
			}
			if locks := command(t, redis, "KEYS", lockKeys); locks != "" {
				t.Errorf("there are locks: %q", locks)
			}
		})
	}
}

// F29: the master is killed in the middle, and Sentinel makes a replica the master.
func TestF29_SentinelFailsOver(t *testing.T) {
	t.Parallel()
	master := dbtest.StartRedis(t, dbtest.RedisOptions{})
	_, port, _ := strings.Cut(master.Addr(), ":")
	replica := dbtest.StartRedis(t, dbtest.RedisOptions{Settings: []string{"replicaof 127.0.0.1 " + port}})
	sentinel := dbtest.StartRedis(t, dbtest.RedisOptions{Sentinel: true, Settings: []string{
		"sentinel monitor orders 127.0.0.1 " + port + " 1",
		"sentinel down-after-milliseconds orders 300",
		"sentinel failover-timeout orders 2000",
	}})
	await(t, "the replica is known", func() bool {
		return strings.Contains(command(t, sentinel, "SENTINEL", "REPLICAS", "orders"), "master-link-status\nok")
	})
	front := newFront(t, rueidis.ClientOption{
		InitAddress: []string{sentinel.Addr()},
		Sentinel:    rueidis.SentinelOption{MasterSet: "orders"},
	}, redisfront.Options{ProbeEvery: 20 * time.Millisecond})
	orders(t, front, 500, func(i int) {
		if i == 250 {
			master.Kill()
			await(t, "the replica is the master", func() bool {
				role, _ := replica.Command("ROLE") // it drops its clients as it is promoted
				return strings.HasPrefix(role, "master")
			})
		}
	})
	database, count := newStore(), new(atomic.Int64)
	before := command(t, replica, "DBSIZE")
	for i := 0; command(t, replica, "DBSIZE") == before; i++ { // the front has found the new master
		key := fmt.Sprint("after", i)
		wantAnswer(t, process(t, database, front), hasty.For(alice, key, nil), says(key, count), key, false)
	}
}

func TestRedisIsACluster(t *testing.T) {
	t.Parallel()
	var nodes []*dbtest.Redis
	for range 3 {
		nodes = append(nodes, dbtest.StartRedis(t, dbtest.RedisOptions{Settings: []string{"cluster-enabled yes", "cluster-node-timeout 2000"}}))
	}
	for i, node := range nodes {
		command(t, node, "CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(i*5461), fmt.Sprint(min((i+1)*5461-1, 16383)+map[bool]int{true: 1}[i == 2]))
		host, port, _ := strings.Cut(nodes[0].Addr(), ":")
		command(t, node, "CLUSTER", "MEET", host, port)
	}
	for _, node := range nodes {
		await(t, "the cluster is whole", func() bool {
			info := command(t, node, "CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	front := newFront(t, rueidis.ClientOption{InitAddress: []string{nodes[0].Addr()}}, patience)
	orders(t, front, 100, undisturbed)
	for _, node := range nodes {
		if command(t, node, "DBSIZE") == "0" {
			t.Error("a node holds nothing")
		}
	}
	wantAnswer(t, process(t, newStore(), front), patient.For(alice, "7", "order 7"), never(t), "order 7"+strings.Repeat(".", 6000), true)
}

// await returns when is is true; each look at it goes to a server.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if is() {
			return
		}
	}
	t.Fatalf("it did not happen: %s", what)
}
