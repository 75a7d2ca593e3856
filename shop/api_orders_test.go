package shop

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

const two = `{"userId":1,"skuId":9001,"quantity":2}`

func TestR1_1_AKeyThatCannotBeIsRefusedBeforeAnythingIsClaimed(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		for _, c := range []struct {
			keys []string
			code string
		}{
			{nil, "key_missing"},
			{[]string{""}, "key_malformed"},
			{[]string{"  "}, "key_malformed"},
			{[]string{`""`}, "key_malformed"},
			{[]string{"a", "b"}, "key_repeated"},
			{[]string{"a", "a"}, "key_repeated"},
			{[]string{"a, b"}, "key_repeated"},
			{[]string{strings.Repeat("k", 129)}, "key_too_long"},
			{[]string{strings.Repeat("k", 100_000)}, "key_too_long"},
		} {
			p.send(request{method: "POST", path: "/api/orders", token: alice, keys: c.keys, body: two}).want(t, 400, c.code)
		}
		p.post("/orders", alice, strings.Repeat("k", 256), book).want(t, 400, "key_too_long")
		db.wantRows(0, 0)
		p.post("/api/orders", alice, strings.Repeat("k", 128), two).want(t, 201, "")
		p.post("/orders", alice, strings.Repeat("k", 255), book).want(t, 201, "")
		db.wantRows(2, 2)
	})
}

func TestR1_2_AnotherMeaningIs40902AndLeaksNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		first := p.post("/api/orders", alice, "k", two)
		first.want(t, 201, "")
		if !regexp.MustCompile(`^\{"orderId":"[0-9a-f-]{36}","orderNo":"ORD-\d{8}-[0-9A-Z]{4}-[0-9A-Z]{4}-[0-9A-Z]{4}","status":"CREATED"\}\n$`).MatchString(first.body) {
			t.Errorf("got %s", first.body)
		}
		for _, body := range []string{
			`{"userId":2,"skuId":9001,"quantity":2}`, `{"userId":1,"skuId":9002,"quantity":2}`, `{"userId":1,"skuId":9001,"quantity":3}`,
		} {
			got := p.post("/api/orders", alice, "k", body)
			got.want(t, 409, "40902")
			for _, secret := range apiOrder(t, first) {
				if strings.Contains(got.body, secret) || got.header.Get("Location") != "" {
					t.Errorf("the refusal tells of the first order: %s", got.body)
				}
			}
		}
		p.post("/api/orders", alice, "k", two).wantReplayed(t, first)
		db.wantRows(1, 1)
	})
}

// apiOrder gives the id and number of an order.
func apiOrder(t *testing.T, a answer) [2]string {
	t.Helper()
	var order apiOrderAnswer
	if err := json.Unmarshal([]byte(a.body), &order); err != nil {
		t.Fatal(err)
	}
	return [2]string{order.OrderID, order.OrderNo}
}

// The ways in which a record is gone while its order stands.
func TestR1_4_TheOrdersTableKnowsAKeyWhoseRecordIsGone(t *testing.T) {
	for name, lose := range map[string]func(*database){
		"lost":    func(db *database) { db.exec("DELETE FROM " + recordTable) },
		"expired": (*database).expire,
		"swept": func(db *database) {
			db.expire()
			db.sweep()
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, db *database) {
				p := db.start()
				first := p.post("/api/orders", alice, "k", two)
				p.end()
				lose(db)
				fresh := db.start() // its memory knows nothing
				fresh.post("/api/orders", alice, "k", `{"userId":1,"skuId":9001,"quantity":3}`).want(t, 409, "40902")
				fresh.post("/api/orders", alice, "k", `{"userId":2,"skuId":9001,"quantity":2}`).want(t, 409, "40902")
				fresh.post("/api/orders", alice, "k", `{"userId":1,"skuId":9002,"quantity":2}`).want(t, 409, "40902")
				again := fresh.post("/api/orders", alice, "k", two)
				again.wantSame(t, first)
				fresh.post("/api/orders", alice, "k", two).wantReplayed(t, again)
				fresh.post("/api/orders", bob, "k", two).want(t, 201, "") // another caller's key
				db.wantRows(2, 2)
			})
		})
	}
}

// sweep lets a shop's sweeper run until the records are gone.
func (d *database) sweep() {
	d.t.Helper()
	shop := must(Open(d.t.Context(), d.name, Options{Callers: DemoCallers()}))(d.t)
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	var running sync.WaitGroup
	running.Go(func() { shop.Run(ctx) })
	for d.count(recordTable) > 0 && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	running.Wait()
	if err := shop.Close(); err != nil {
		d.t.Error(err)
	}
}

// The work that finds its order writes nothing but a row's lock; that must not be reported as a missed transaction.
func TestR1_4_FindingTheFirstOrderIsNoMissedTransaction(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	p := db.start()
	first := p.post("/api/orders", alice, "k", two)
	p.end()
	db.exec("DELETE FROM " + recordTable)
	var log strings.Builder
	p = db.startWith(Options{Callers: DemoCallers(), Logger: slog.New(slog.NewTextHandler(&synced{to: &log}, nil))})
	p.post("/api/orders", alice, "k", two).wantSame(t, first)
	p.end()
	if strings.Contains(log.String(), string(onceward.NoteUntouched)) {
		t.Errorf("the log has %s", log.String())
	}
}

func TestR1_4_AFirstOrderThatHasMovedOnIsAnsweredAsItBegan(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		first := p.post("/api/orders", alice, "k", two)
		p.end()
		db.exec("UPDATE orders SET status = 'shipped'")
		db.exec("DELETE FROM " + recordTable)
		db.start().post("/api/orders", alice, "k", two).wantSame(t, first)
	})
}

// Twenty over two processes, for an order whose record is gone and for one that does not exist yet.
func TestR1_4_TwoProcessesAtOnceFindOneOrder(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		first := p.post("/api/orders", alice, "placed", two)
		p.end()
		db.exec("DELETE FROM " + recordTable)
		processes := []*process{db.start(), db.start()}
		for _, key := range []string{"placed", "new"} {
			answers := atOnce(20, func(i int) answer { return processes[i%2].post("/api/orders", alice, key, two) })
			for _, got := range answers {
				if got.status != http.StatusCreated {
					got.want(t, 409, "40901")
				}
			}
		}
		for _, p := range processes {
			p.post("/api/orders", alice, "placed", two).wantSame(t, first)
		}
		db.wantRows(2, 2)
	})
}

// The other order is not committed yet when ours is inserted, and no record tells of it: a process of another version,
// whose operation has another name.
func TestR1_4_F23_TheUniqueConstraintIsTheArbiterBetweenVersions(t *testing.T) {
	for name, test := range map[string]struct {
		quantity, status int
		code             string
	}{"same": {2, 201, ""}, "other": {3, 409, "40902"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := onPostgres(t)
			p := db.start()
			other := must(db.db.BeginTx(t.Context(), nil))(t)
			defer func() { _ = other.Rollback() }()
			_ = must(other.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO orders (id, tenant, principal, request_id, order_no, user_id, sku, quantity, amount_cents, status)
				VALUES ('01a22ef1-8150-7085-9cc4-14cf5c2f7e79', 'acme', 'alice', 'k', 'ORD-1', 1, '9001', %d, 1, 'CREATED')`, test.quantity)))(t)
			ours := later(func() answer { return p.post("/api/orders", alice, "k", two) })
			db.awaitCount("pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'", 1)
			must(0, other.Commit())(t)
			got := await(t, ours)
			got.want(t, test.status, test.code)
			if test.status == http.StatusCreated && !strings.Contains(got.body, `"orderNo":"ORD-1"`) {
				t.Errorf("got %s, want the order that stands", got.body)
			}
			if n := db.count("orders"); n != 1 {
				t.Errorf("%d orders", n)
			}
		})
	}
}

// awaitCount waits until the count is n.
func (d *database) awaitCount(from string, n int) {
	d.t.Helper()
	for deadline := time.Now().Add(patience); d.count(from) != n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("%s: the count has not become %d", from, n)
		}
	}
}

func TestR1_5_ADuplicateOfARunningRequestIsToldAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		g := newGate()
		p := db.startGated(g)
		first := later(func() answer { return p.post("/api/orders", alice, "k", two) })
		g.awaitEntered(t)
		quickest := patience // of a few: the machine may be busy
		for range 5 {
			began := time.Now()
			got := p.post("/api/orders", alice, "k", two)
			quickest = min(quickest, time.Since(began))
			got.want(t, 409, "40901")
			if got.header.Get("Retry-After") != "1" {
				t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
			}
		}
		if quickest > 800*time.Millisecond {
			t.Errorf("it was told after %v", quickest)
		}
		g.release <- nil
		placed := await(t, first)
		placed.want(t, 201, "")
		p.post("/api/orders", alice, "k", two).wantReplayed(t, placed)
		db.wantRows(1, 1)
	})
}

func TestR1_5_ADuplicateAtAnotherProcessIsToldAtOnce(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	g := newGate()
	p, other := db.startGated(g), db.start()
	first := later(func() answer { return p.post("/api/orders", alice, "k", two) })
	g.awaitEntered(t)
	other.post("/api/orders", alice, "k", two).want(t, 409, "40901")
	g.release <- nil
	await(t, first).want(t, 201, "")
	db.wantRows(1, 1)
}

func TestR1_6_TwentyAtOnceAreOneOrder(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		answers := atOnce(20, func(int) answer { return p.post("/api/orders", alice, "k", two) })
		last := p.post("/api/orders", alice, "k", two)
		last.want(t, 201, "")
		for _, got := range answers {
			if got.status == http.StatusCreated {
				got.wantSame(t, last)
				continue
			}
			got.want(t, 409, "40901")
		}
		db.wantRows(1, 1)
	})
}

func TestR1_7_TwoKeysAreTwoOrders(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		answers := atOnce(2, func(i int) answer { return p.post("/api/orders", alice, fmt.Sprint("k", i), two) })
		first, second := apiOrder(t, answers[0]), apiOrder(t, answers[1])
		if first[0] == second[0] || first[1] == second[1] {
			t.Errorf("got %v and %v, want two orders with two numbers", first, second)
		}
		db.wantRows(2, 2)
	})
}

func TestOneKeyOnBothEndpointsIsTwoCommands(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		p.post("/orders", alice, "k", book).want(t, 201, "")
		p.post("/api/orders", alice, "k", two).want(t, 201, "")
		p.post("/orders", alice, "k2", book).want(t, 201, "")
		db.wantRows(3, 3)
	})
}
