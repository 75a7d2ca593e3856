package proofs

import (
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/shop"
)

// What PostgreSQL is put through, on MariaDB, where a deadlock may end an attempt and the client is told to come again.

func TestR2_20_FourProcessesOnMariaDB(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"waiting callers": "/orders", "callers that do not wait": "/api/orders"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := onMariaDB(t)
			var servers []*server
			for range 4 {
				servers = append(servers, startServer(t, db.name))
			}
			crowd(t, db, path, servers...)
		})
	}
}

func TestR1_6_TwentyAtOnceAndAKilledProcessOnMariaDB(t *testing.T) {
	t.Parallel()
	db, redis := onMariaDB(t), dbtest.StartRedis(t, dbtest.RedisOptions{})
	s := behind(t, db, redis, 1)[0]
	r := order("1").to("/api/orders")
	answers := atOnce(20, func(int) answer { return insistently(t, s.url(), r) })
	wantOneAnswer(t, answers)
	inRedis(t, redis, "FLUSHALL")
	s.restart()
	wantReplay(t, post(t, s.url(), r), answers[0])
	if keys := results(t, redis); len(keys) != 1 {
		t.Errorf("Redis holds %q, want the answer again", keys)
	}
	refused := post(t, s.url(), r.with(`{"userId":1,"skuId":9001,"quantity":3}`))
	if wantStatus(t, refused, http.StatusConflict); refused.code() != "40902" {
		t.Errorf("the code is %q, want 40902", refused.code())
	}
	db.wantRows(1, 1)
	db.exec("DELETE FROM onceward_record") // the order's own request id guards it (R1.4)
	inRedis(t, redis, "FLUSHALL")
	s.restart()
	if again := post(t, s.url(), r); again.body != answers[0].body || again.status != http.StatusCreated {
		t.Errorf("without its record the order is answered %d %s", again.status, again.body)
	}
	db.wantRows(1, 1)
}

// F21: keys that differ in case, or in a space at their end, are two.
func TestF21_KeysThatDifferInCaseOrSpaceOnMariaDB(t *testing.T) {
	t.Parallel()
	db := onMariaDB(t)
	s := startServer(t, db.name)
	for _, path := range []string{"/orders", "/api/orders"} {
		for _, key := range []string{"Key", "key", "key\u0020", "key\u0020\u0020"} {
			r := order(key).to(path).filled()
			first := quoted(t, s.url(), r)
			wantCreated(t, first)
			wantReplay(t, quoted(t, s.url(), r), first)
		}
	}
	db.wantRows(8, 8)
}

// quoted sends a filled request whose key is quoted, as one with a space at its end has to be.
func quoted(t *testing.T, url string, r request) answer {
	t.Helper()
	r.key = `"` + r.key + `"`
	return must(sendFilled(t.Context(), client, url, r))(t)
}

func TestR2_20_ServerProcessKilledUnderLoadOnMariaDB(t *testing.T) {
	t.Parallel()
	db := onMariaDB(t)
	s := startServer(t, db.name)
	l := startLoad(t, s.url)
	for range 6 {
		l.amid()
		s.restart()
	}
	l.amid()
	l.stop()
	s.restart()
	l.check(db, noAnswer, http.StatusServiceUnavailable, http.StatusConflict) // 409: the dead process's claim, until MariaDB has seen it die
}

func TestR2_20_MariaDBKilledUnderLoad(t *testing.T) {
	t.Parallel()
	server := dbtest.StartMariaDB(t, dbtest.MariaDBOptions{Durable: true})
	db := look(t, shop.KindMySQL, server.Database(t))
	a, b := startServer(t, db.name), startServer(t, db.name)
	urls := make(chan string, 2)
	urls <- a.url()
	urls <- b.url()
	l := startLoad(t, func() string { // by turns, so that a retry comes to another process
		url := <-urls
		urls <- url
		return url
	})
	for range 3 {
		l.amid()
		server.Kill()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	l.amid()
	l.stop()
	a.restart()
	b.restart()
	for range 2 {
		<-urls
	}
	urls <- a.url()
	l.check(db, http.StatusServiceUnavailable, http.StatusConflict)
}

// TestB2_CommitCutOffOnMariaDB: the connection breaks around the COMMIT.
func TestB2_CommitCutOffOnMariaDB(t *testing.T) {
	t.Parallel()
	const soon = 200 * time.Millisecond
	for name, c := range map[string]struct {
		fault dbtest.Fault
		want  int
	}{
		"before the commit":                 {dbtest.Fault{On: ";\nCOMMIT", Moment: dbtest.Before}, http.StatusServiceUnavailable},
		"within the commit":                 {dbtest.Fault{On: ";\nCOMMIT", Moment: dbtest.Within}, http.StatusServiceUnavailable},
		"after the commit, its answer lost": {dbtest.Fault{On: ";\nCOMMIT", Moment: dbtest.Answered}, http.StatusCreated},
		"the commit arrives late":           {dbtest.Fault{On: ";\nCOMMIT", Moment: dbtest.Late, Delay: soon}, http.StatusCreated},
		"in the work, its answer lost":      {dbtest.Fault{On: "INTO orders", Moment: dbtest.Answered}, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := onMariaDB(t)
			proxy := dbtest.NewProxy(t, dbtest.SharedMariaDB(t).Addr())
			s := startServer(t, proxy.URL(db.name))
			wantCreated(t, post(t, s.url(), order("warm")))
			cut := proxy.Cut(c.fault)
			first := post(t, s.url(), order("1"))
			await(t, "the cut", cut.Over())
			if wantStatus(t, first, c.want); first.status == http.StatusCreated {
				wantReplay(t, post(t, s.url(), order("1")), first)
			} else {
				db.wantRows(1, 1)
				wantCreated(t, insistently(t, s.url(), order("1")))
			}
			db.wantRows(2, 2)
		})
	}
}
