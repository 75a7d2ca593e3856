package proofs

import (
	"context"
	"fmt"
	"net/http"
	"testing"
)

// insistently sends r until it is carried out, as a client does that is told to come again.
func insistently(t testing.TB, url string, r request) (a answer) {
	t.Helper()
	until(t, "an order under "+r.key, func() bool {
		var err error
		a, err = send(context.Background(), url, r)
		switch {
		case err != nil:
			t.Error(err)
		case a.status == http.StatusCreated:
			return true
		case a.status != http.StatusServiceUnavailable && a.code() != "40901":
			t.Errorf("status %d: %s", a.status, a.body)
			return true
		}
		return err != nil
	})
	return a
}

// crowd has 50 callers a server ask for 30 keys, all at the same moment, and checks that a key has one answer.
func crowd(t *testing.T, db *database, path string, servers ...*server) {
	const callers, keys = 50, 30
	answers := atOnce(callers*len(servers), func(i int) answer {
		return insistently(t, servers[i%len(servers)].url(), order(fmt.Sprint(i/len(servers)%keys)).to(path))
	})
	ofKey := map[int][]answer{}
	for i, a := range answers {
		key := i / len(servers) % keys
		ofKey[key] = append(ofKey[key], a)
	}
	for _, same := range ofKey {
		wantOneAnswer(t, same)
		first := 0
		for _, a := range same {
			if !a.replayed() {
				first++
			}
		}
		if first != 1 {
			t.Errorf("%d answers of one key are not replays, want 1", first)
		}
	}
	db.wantRows(keys, keys)
}

func TestR2_20_FourProcessesOnPostgreSQL(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"waiting callers": "/orders", "callers that do not wait": "/api/orders"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := onPostgres(t)
			var servers []*server
			for i := range 4 {
				servers = append(servers, startServer(t, db.named(fmt.Sprint("server ", i))))
			}
			crowd(t, db, path, servers...)
		})
	}
}

// One process is what SQLite is for; a second one on the file, against the advice, is slower and makes no double.
func TestR2_20_ProcessesOnSQLite(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 2; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			db := onSQLite(t)
			var servers []*server
			for range n {
				servers = append(servers, startServer(t, db.name))
			}
			crowd(t, db, "/orders", servers...)
		})
	}
}

// Processes that start at once on an empty database all come up.
func TestR2_20_ProcessesStartAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		n := 4
		if !db.postgres() {
			n = 2
		}
		servers := atOnce(n, func(int) *server { return startServer(t, db.name) })
		answers := atOnce(n, func(i int) answer { return insistently(t, servers[i].url(), order("1")) })
		wantOneAnswer(t, answers)
		db.wantRows(1, 1)
	})
}

// R1.6, without its Redis part: twenty at once, a repetition, changed parameters, and the process killed after the commit.
func TestR1_6_TwentyAtOnceAndAKilledProcess(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		r := order("1").to("/api/orders")
		answers := atOnce(20, func(int) answer { return insistently(t, s.url(), r) })
		wantOneAnswer(t, answers)
		s.restart()
		wantReplay(t, post(t, s.url(), r), answers[0])
		refused := post(t, s.url(), r.with(`{"userId":1,"skuId":9001,"quantity":3}`))
		if wantStatus(t, refused, http.StatusConflict); refused.code() != "40902" {
			t.Errorf("the code is %q, want 40902", refused.code())
		}
		db.wantRows(1, 1)
		db.exec("DELETE FROM onceward_record") // the order's own request id guards it (R1.4)
		s.restart()
		if again := post(t, s.url(), r); again.body != answers[0].body || again.status != http.StatusCreated {
			t.Errorf("without its record the order is answered %d %s", again.status, again.body)
		}
		db.wantRows(1, 1)
	})
}
