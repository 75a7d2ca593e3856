package proofs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/shop"
)

// The evidence table of "Your checkout request timed out" (R2.19): eleven rows, fifteen tests. A row that is about what only a
// database server has (its locks, its sessions) runs on PostgreSQL alone; on SQLite, death_test.go has its like.

// Row 1: a transaction groups changes, and knows nothing of the action that was asked for twice. The rows go through the shop's
// own code for the database, over HTTP, in a transaction, without onceward.
func TestR2_19_Row01_TransactionAloneMakesTwoOrders(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	startServer(t, db.name) // for the tables
	pool := must(pgxpool.New(t.Context(), db.name))(t)
	t.Cleanup(pool.Close)
	naive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := uuid.Must(uuid.NewV7())
		err := pgx.BeginFunc(r.Context(), pool, func(tx pgx.Tx) error {
			_, err := shop.Postgres(pool).Insert(r.Context(), tx, "orders", "id, tenant, principal, order_no, sku, quantity, amount_cents, status",
				id.String(), "acme", "alice", id.String(), "BOOK", 2, 19800, "accepted")
			return err
		})
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(naive.Close)
	for range 2 {
		wantStatus(t, post(t, naive.URL, order("1")), http.StatusCreated)
	}
	db.wantRows(2, 0)
}

// Row 2.
func TestR2_19_Row02_SequentialReplayAlsoOfReorderedJSON(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		first := post(t, s.url(), order("1"))
		wantCreated(t, first)
		if location := first.header.Get("Location"); !strings.HasPrefix(location, "/orders/") || !strings.Contains(first.body, location[len("/orders/"):]) {
			t.Errorf("the Location is %q, the body %s", location, first.body)
		}
		for _, body := range []string{
			`{"sku":"BOOK","quantity":2}`,
			`{"quantity":2,"sku":"BOOK"}`,
			" {\n\"quantity\" : 2.0, \"\\u0073ku\" : \"BOO\\u004b\" } \n",
		} {
			wantReplay(t, post(t, s.url(), order("1").with(body)), first)
		}
		db.exec("UPDATE orders SET status = 'shipped'") // the first answer stands, however the order goes on (R2.3)
		s.restart()
		wantReplay(t, post(t, s.url(), order("1")), first)
		db.wantRows(1, 1)
	})
}

// Row 3.
func TestR2_19_Row03_TwelveSimultaneousRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		servers := []*server{startServer(t, db.name)}
		if db.postgres() {
			servers = append(servers, startServer(t, db.name))
		}
		for round := range 5 {
			answers := atOnce(12, func(i int) answer { return post(t, servers[i%len(servers)].url(), order(fmt.Sprint(round))) })
			wantOneAnswer(t, answers)
			db.wantRows(round+1, round+1)
		}
	})
}

// Row 4: the contender, in another process, is seen in pg_locks before the first attempt is let go.
func TestR2_19_Row04_ContenderIsSeenWaitingInTheDatabase(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	a, b := startServer(t, db.named("a")), startServer(t, db.named("b"))
	release := db.hold()
	first := later(t, a.url(), order("1"))
	db.awaitLocks("relation", 1)
	contender := later(t, b.url(), order("1"))
	db.awaitLocks("advisory", 1)
	if waiting := db.number(`SELECT count(*) FROM pg_stat_activity JOIN pg_locks USING (pid)
		WHERE application_name = 'b' AND locktype = 'advisory' AND NOT granted`); waiting != 1 {
		t.Errorf("of the second process %d backends wait for the claim, want 1", waiting)
	}
	select {
	case a := <-first:
		t.Errorf("the first has been answered: %s", a.body)
	case a := <-contender:
		t.Errorf("the contender has been answered: %s", a.body)
	default:
	}
	if n := db.records(); n != 0 {
		t.Errorf("%d records are visible while the claim is held: the lock is the claim", n)
	}
	release()
	one := await(t, "the first answer", first)
	wantCreated(t, one)
	wantReplay(t, await(t, "the contender's answer", contender), one)
	db.wantRows(1, 1)
}

// Row 5.
func TestR2_19_Row05_ChangedPayloadIsAConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		first := post(t, s.url(), order("1"))
		wantCreated(t, first)
		for range 2 { // from memory, and from the database
			refused := post(t, s.url(), order("1").with(`{"sku":"BOOK","quantity":3}`))
			wantStatus(t, refused, http.StatusUnprocessableEntity)
			if id := first.header.Get("Location")[len("/orders/"):]; strings.Contains(refused.body, id) {
				t.Error("the refusal gives the first order away")
			}
			s.restart()
		}
		db.wantRows(1, 1)

		// Overlapping: twelve callers, two meanings; one of them is the order, the other a conflict.
		answers := atOnce(12, func(i int) answer {
			return post(t, s.url(), order("2").with(fmt.Sprintf(`{"sku":"BOOK","quantity":%d}`, 5+i%2)))
		})
		won := 0
		if answers[0].status != http.StatusCreated {
			won = 1
		}
		for i, a := range answers {
			if i%2 == won {
				wantStatus(t, a, http.StatusCreated)
				continue
			}
			wantStatus(t, a, http.StatusUnprocessableEntity)
		}
		db.wantRows(2, 2)
		if !db.postgres() {
			return
		}
		// Overlapping across processes: the other meaning waits on the database for the decision.
		other, release := startServer(t, db.name), db.hold()
		held := later(t, s.url(), order("3"))
		db.awaitLocks("relation", 1)
		changed := later(t, other.url(), order("3").with(`{"sku":"BOOK","quantity":3}`))
		db.awaitLocks("advisory", 1)
		release()
		wantCreated(t, await(t, "the held answer", held))
		wantStatus(t, await(t, "the changed one's answer", changed), http.StatusUnprocessableEntity)
		db.wantRows(3, 3)
	})
}

// Row 6. Which of the two requests is the first attempt does not matter: the other waits for a second, and no longer.
func TestR2_19_Row06_OneSecondOfWaitingThen503(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		urls := []string{startServer(t, db.name).url()}
		urls = append(urls, urls[0])
		if db.postgres() {
			urls[1] = startServer(t, db.name).url()
		}
		release := db.hold()
		began := time.Now()
		answers := make(chan answer, 2)
		for _, url := range urls {
			go func() { answers <- post(t, url, order("1")) }()
		}
		refused := await(t, "the contender's answer", answers)
		waited := time.Since(began)
		wantComeAgain(t, refused)
		if refused.code() != "in_flight" || waited < time.Second {
			t.Errorf("the contender was told %q after %v", refused.code(), waited)
		}
		release()
		first := await(t, "the first answer", answers)
		wantCreated(t, first)
		for _, url := range urls {
			wantReplay(t, post(t, url, order("1")), first)
		}
		db.wantRows(1, 1)
	})
}

// Row 7, the first half: an error after the order was inserted. Works that fail in other ways are in works_test.go.
func TestR2_19_Row07_ExceptionRollsBackAndTheRetrySucceeds(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		heal := db.failing()
		doomed := order("1").with(`{"sku":"BOOK","quantity":13}`)
		for range 2 {
			failed := post(t, s.url(), doomed)
			wantStatus(t, failed, http.StatusInternalServerError)
			if strings.Contains(failed.body, "refused by the proof") {
				t.Error("the answer quotes the database")
			}
			db.wantRows(0, 0)
		}
		heal()
		wantCreated(t, post(t, s.url(), doomed))
		db.wantRows(1, 1)
	})
}

// Row 7, the second half: the database ends the session that holds the claim.
func TestR2_19_Row07_TerminatedBackendRollsBackAndTheRetrySucceeds(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	s := startServer(t, db.named("victim"))
	release := db.hold()
	first := later(t, s.url(), order("1"))
	db.awaitLocks("relation", 1)
	if n := db.number(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event_type = 'Lock'`); n != 1 {
		t.Fatalf("%d backends were terminated, want 1", n)
	}
	wantComeAgain(t, await(t, "the answer of the terminated attempt", first))
	release()
	db.wantRows(0, 0)
	wantCreated(t, post(t, s.url(), order("1")))
	db.wantRows(1, 1)
}

// Row 8, the first half: the answer is read from the server, and the client gets nothing of it.
func TestR2_19_Row08_DiscardedResponse(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		proxy := dbtest.NewProxy(t, strings.TrimPrefix(s.url(), "http://"))
		lost := proxy.Cut(dbtest.Fault{On: "POST /orders", Moment: dbtest.Answered})
		if a, err := send(t.Context(), "http://"+proxy.Addr(), order("1")); err == nil {
			t.Fatalf("the response was not discarded: %s", a.body)
		}
		await(t, "the end of the lost connection", lost.Over())
		db.wantRows(1, 1)
		retried := post(t, "http://"+proxy.Addr(), order("1"))
		wantReplay(t, retried, post(t, s.url(), order("1")))
		db.wantRows(1, 1)
	})
}

// Row 8, the second half: the client's own deadline fires while the answer is withheld from it.
func TestR2_19_Row08_ClientTimeout(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		upstream := make(chan answer, 1)
		withholding := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body := must(io.ReadAll(r.Body))(t)
			forwarded := request{key: strings.TrimPrefix(r.Header.Get("Idempotency-Key"), keyMark), body: string(body)}
			upstream <- post(t, s.url(), forwarded)
			<-r.Context().Done() // until the client has gone
		}))
		t.Cleanup(withholding.Close)
		hasty := &http.Client{Timeout: 300 * time.Millisecond}
		if _, err := sendBy(context.Background(), hasty, withholding.URL, order("1")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the client's deadline did not fire: %v", err)
		}
		first := await(t, "the answer that was withheld", upstream)
		wantCreated(t, first)
		db.wantRows(1, 1)
		wantReplay(t, post(t, s.url(), order("1")), first)
		db.wantRows(1, 1)
	})
}

// Row 9.
func TestR2_19_Row09_FreshProcessReplaysFromTheDatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		first := post(t, s.url(), order("1"))
		wantCreated(t, first)
		s.restart() // killed: nothing of its memory is saved
		wantReplay(t, post(t, s.url(), order("1")), first)
		db.wantRows(1, 1)
	})
}

// Row 10, the first half.
func TestR2_19_Row10_CallersAreIndependent(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		ids := map[string]bool{}
		for _, token := range []string{alice, bob, carol} {
			first := post(t, s.url(), order("1").by(token))
			wantCreated(t, first)
			wantReplay(t, post(t, s.url(), order("1").by(token)), first)
			ids[first.header.Get("Location")] = true
		}
		if len(ids) != 3 {
			t.Errorf("three callers have %d orders", len(ids))
		}
		wantStatus(t, post(t, s.url(), order("1").by("nobody")), http.StatusUnauthorized)
		db.wantRows(3, 3)
	})
}

// Row 10, the second half: equal contents under two keys are two intents, also at the same moment (R1.7).
func TestR2_19_Row10_DistinctKeysAreDistinctOrders(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		answers := atOnce(8, func(i int) answer { return post(t, s.url(), order(fmt.Sprint(i))) })
		ids := map[string]bool{}
		for _, a := range answers {
			wantCreated(t, a)
			ids[a.header.Get("Location")] = true
		}
		if len(ids) != len(answers) {
			t.Errorf("%d keys have %d orders", len(answers), len(ids))
		}
		db.wantRows(8, 8)
	})
}

// Row 11, the first half.
func TestR2_19_Row11_InvalidCommandReservesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		for _, body := range []string{`{"sku":"BOOK","quantity":0}`, `{"sku":"BOOK"}`, `{"sku":"BOOK","quantity":2`, `[]`} {
			wantStatus(t, post(t, s.url(), order("1").with(body)), http.StatusBadRequest)
		}
		db.wantRows(0, 0)
		wantCreated(t, post(t, s.url(), order("1")))
		db.wantRows(1, 1)
	})
}

// Row 11, the second half: protection ends with the record, and the order does not.
func TestR2_19_Row11_DeletedRecordEndsProtection(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		first := post(t, s.url(), order("1"))
		wantCreated(t, first)
		db.exec("DELETE FROM onceward_record")
		s.restart() // its memory would still replay
		again := post(t, s.url(), order("1"))
		wantCreated(t, again)
		if again.header.Get("Location") == first.header.Get("Location") {
			t.Error("the second order has the first one's Location")
		}
		db.wantRows(2, 1)
	})
}
