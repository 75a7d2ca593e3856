package proofs

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/dbtest"
)

// behind starts servers on a database that ask one Redis first.
func behind(t *testing.T, db *database, redis *dbtest.Redis, n int) []*server {
	t.Helper()
	servers := make([]*server, n)
	for i := range servers {
		name := db.name
		if db.postgres() {
			name = db.named(fmt.Sprint("server ", i))
		}
		servers[i] = startServer(t, name, "--redis", redis.URL())
	}
	return servers
}

func inRedis(t *testing.T, redis *dbtest.Redis, words ...string) string {
	t.Helper()
	return must(redis.Command(words...))(t)
}

// results are the keys of all results in Redis.
func results(t *testing.T, redis *dbtest.Redis) []string {
	t.Helper()
	return strings.Fields(inRedis(t, redis, "KEYS", "idem:result:*"))
}

// wantNoKeyInRedis looks for the callers' keys in the names.
func wantNoKeyInRedis(t *testing.T, redis *dbtest.Redis) {
	t.Helper()
	names := inRedis(t, redis, "KEYS", "*")
	if strings.Contains(names, keyMark) || strings.Contains(names, "alice") {
		t.Errorf("a name in Redis gives away a key or a caller: %q", names)
	}
	for name := range strings.FieldsSeq(names) {
		if !regexp.MustCompile(`^idem:(result|lock):[a-z0-9.-]+:\{[0-9a-f]{32}\}$`).MatchString(name) {
			t.Errorf("a name in Redis is %q", name)
		}
	}
}

// TestR1_6_TwentyAtOnceBehindRedis is R1.6 whole: twenty at once at two processes are one row; a repetition is the same order;
// changed parameters are 40902; Redis holds the answer and gives it to a process whose database has lost all.
func TestR1_6_TwentyAtOnceBehindRedis(t *testing.T) {
	t.Parallel()
	db, redis := onPostgres(t), dbtest.StartRedis(t, dbtest.RedisOptions{})
	servers := behind(t, db, redis, 2)
	r := order("1").to("/api/orders")
	answers := atOnce(20, func(i int) answer { return insistently(t, servers[i%2].url(), r) })
	wantOneAnswer(t, answers)
	db.wantRows(1, 1)
	until(t, "Redis holds the answer", func() bool { return len(results(t, redis)) == 1 })
	wantNoKeyInRedis(t, redis)
	db.exec("DELETE FROM onceward_record")
	db.exec("DELETE FROM orders")
	servers[0].restart() // its memory is gone as well
	wantReplay(t, post(t, servers[0].url(), r), answers[0])
	refused := post(t, servers[0].url(), r.with(`{"userId":1,"skuId":9001,"quantity":3}`))
	if wantStatus(t, refused, http.StatusConflict); refused.code() != "40902" {
		t.Errorf("the code is %q, want 40902", refused.code())
	}
	wantCreated(t, post(t, servers[0].url(), r.by(bob)))
	wantCreated(t, post(t, servers[0].url(), r.by(carol)))
	db.wantRows(2, 2)
}

// TestR1_6_KilledBetweenCommitAndRedis: the process dies by SIGKILL when the order stands and Redis does not know it. A retry at
// the next process finds the first order, and Redis holds it again.
func TestR1_6_KilledBetweenCommitAndRedis(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/orders", "/api/orders"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			db, redis := onPostgres(t), dbtest.StartRedis(t, dbtest.RedisOptions{})
			s := behind(t, db, redis, 1)[0]
			r := order("1").to(path)
			release := db.hold()
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				_, _ = send(t.Context(), s.url(), r)
			}()
			db.awaitLocks("relation", 1) // the work stands still in its insert
			redis.Pause()
			release()
			until(t, "the order is committed", func() bool { return db.orders() == 1 })
			s.kill()
			<-gone
			redis.Resume()
			if keys := results(t, redis); len(keys) != 0 {
				t.Fatalf("Redis was written before the process died: %q", keys)
			}
			s.start()
			first := insistently(t, s.url(), r)
			if !first.replayed() {
				t.Error("the first order was not replayed")
			}
			db.wantRows(1, 1)
			if keys := results(t, redis); len(keys) != 1 {
				t.Errorf("Redis holds %q, want the answer again", keys)
			}
			s.restart()
			wantReplay(t, post(t, s.url(), r), first)
		})
	}
}

// R1.5: a duplicate at another process is refused by the lock in Redis, while the database stands still.
func TestR1_5_RefusedByTheHolderInRedis(t *testing.T) {
	t.Parallel()
	db, redis := onPostgres(t), dbtest.StartRedis(t, dbtest.RedisOptions{})
	servers := behind(t, db, redis, 2)
	r := order("1").to("/api/orders")
	release := db.hold()
	first := later(t, servers[0].url(), r)
	db.awaitLocks("relation", 1)
	lock := inRedis(t, redis, "KEYS", "idem:lock:*")
	if ttl := inRedis(t, redis, "TTL", lock); ttl > "30" || len(ttl) != 2 {
		t.Errorf("the lock lives %s s, want up to 30", ttl)
	}
	for body, code := range map[string]string{"": "40901", `{"userId":1,"skuId":9001,"quantity":3}`: "40902"} {
		until(t, "a refusal with "+code, func() bool { // a Redis that is slow for a moment is not asked, and the database cannot see what runs
			inRedis(t, redis, "PEXPIRE", lock, "30000") // it was taken just now, however slow this machine is
			refused := post(t, servers[1].url(), r.with(body))
			wantStatus(t, refused, http.StatusConflict)
			if refused.code() == "40901" && refused.header.Get("Retry-After") == "" {
				t.Error("it is not told when to come again")
			}
			return refused.code() == code
		})
	}
	release()
	wantCreated(t, await(t, "the first answer", first))
	db.wantRows(1, 1)
}

// TestF29_RedisIsDisturbedUnderLoad: 500 orders with their duplicates over two processes while Redis is killed, paused and flushed.
// As many orders as keys, and all answers of a key are one.
func TestF29_RedisIsDisturbedUnderLoad(t *testing.T) {
	t.Parallel()
	db, redis := onPostgres(t), dbtest.StartRedis(t, dbtest.RedisOptions{})
	servers := behind(t, db, redis, 2)
	const orders = 500
	disturb := map[int]func(){
		50:  func() { inRedis(t, redis, "FLUSHALL") },
		100: redis.Pause,
		150: redis.Resume,
		200: redis.Kill,
		250: func() {
			if err := redis.Start(); err != nil {
				t.Error(err)
			}
		},
		300: func() { inRedis(t, redis, "CONFIG", "SET", "maxmemory", "1mb", "maxmemory-policy", "noeviction") },
		350: func() { inRedis(t, redis, "CONFIG", "SET", "maxmemory", "0") },
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < orders; i = int(next.Add(1)) - 1 {
				if f := disturb[i]; f != nil {
					f()
				}
				r := order(fmt.Sprint(i)).to([]string{"/orders", "/api/orders"}[i%2])
				wantOneAnswer(t, atOnce(4, func(n int) answer { return insistently(t, servers[n%2].url(), r) }))
			}
		})
	}
	all.Wait()
	db.wantRows(orders, orders)
	wantNoKeyInRedis(t, redis)
	before := len(results(t, redis))
	until(t, "Redis is written again", func() bool {
		wantCreated(t, post(t, servers[0].url(), order(fmt.Sprint("after", next.Add(1)))))
		return len(results(t, redis)) > before
	})
}

// With Redis paused, twenty orders one after the other take under eight seconds, the issue's own bound.
func TestRedisHangsAndOrdersGoOn(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
		s := behind(t, db, redis, 1)[0]
		wantCreated(t, post(t, s.url(), order("warm")))
		redis.Pause()
		began := time.Now()
		for i := range 20 {
			wantCreated(t, post(t, s.url(), order(fmt.Sprint(i))))
		}
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("twenty orders took %v", took)
		}
	})
}

// A demo whose Redis is not there says so once, and serves.
func TestRedisIsNotThere(t *testing.T) {
	t.Parallel()
	redis := dbtest.StartRedis(t, dbtest.RedisOptions{})
	redis.Stop()
	s := behind(t, onSQLite(t), redis, 1)[0]
	for i := range 20 {
		wantCreated(t, post(t, s.url(), order(fmt.Sprint(i))))
	}
	s.stop()
	if n := strings.Count(s.log.String(), "goes on without Redis"); n != 1 {
		t.Errorf("it was said %d times: %s", n, s.log.String())
	}
}

// Two hundred duplicates over three processes hold at most one connection each, and the others go on.
func TestF28_HotKeyOverThreeProcessesBehindRedis(t *testing.T) {
	t.Parallel()
	db, redis := onPostgres(t), dbtest.StartRedis(t, dbtest.RedisOptions{})
	servers := behind(t, db, redis, 3)
	release := db.hold()
	answers := make(chan answer, 200)
	for i := range 200 {
		go func() { answers <- insistently(t, servers[i%3].url(), order("hot")) }()
	}
	db.awaitLocks("relation", 1)
	db.awaitLocks("advisory", 2) // one a process, of those that have no leader at work
	if n := db.number(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND application_name LIKE 'server %'`); n > 3 {
		t.Errorf("the duplicates hold %d connections at work, want 3 at most", n)
	}
	release()
	all := make([]answer, 200)
	for i := range all {
		all[i] = await(t, "an answer", answers)
	}
	wantOneAnswer(t, all)
	db.wantRows(1, 1)
}
