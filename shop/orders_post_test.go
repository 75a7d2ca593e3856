package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"
)

const book = `{"sku":"BOOK","quantity":2}`

// want checks status and, of a refusal, that it is a problem with that code.
func (a answer) want(t *testing.T, status int, code string) {
	t.Helper()
	if a.status != status {
		t.Errorf("got status %d with %s, want %d", a.status, a.body, status)
	}
	if code == "" {
		return
	}
	var problem struct {
		Type, Title, Code, Detail string
		Status                    int
	}
	if err := json.Unmarshal([]byte(a.body), &problem); err != nil || a.header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("got %q with %s, want a problem", a.header.Get("Content-Type"), a.body)
	}
	if problem.Code != code || problem.Status != status || problem.Type == "" || problem.Title == "" || problem.Detail == "" {
		t.Errorf("got %s, want a whole problem with the code %q", a.body, code)
	}
}

// wantSame checks that a is first's answer again.
func (a answer) wantSame(t *testing.T, first answer) {
	t.Helper()
	if a.status != first.status || a.body != first.body || a.header.Get("Location") != first.header.Get("Location") ||
		a.header.Get("Content-Type") != first.header.Get("Content-Type") {
		t.Errorf("got %d %s %s, want the first answer: %d %s %s",
			a.status, a.header.Get("Location"), a.body, first.status, first.header.Get("Location"), first.body)
	}
}

func (a answer) wantReplayed(t *testing.T, first answer) {
	t.Helper()
	a.wantSame(t, first)
	if a.header.Get("Idempotent-Replayed") != "true" || first.header.Get("Idempotent-Replayed") != "" {
		t.Error("the replay, and only the replay, must be marked as one")
	}
}

func TestOrderAnswer(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		got := p.post("/orders", alice, "k", book)
		got.want(t, 201, "")
		var order orderAnswer
		must(0, json.Unmarshal([]byte(got.body), &order))(t)
		if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(order.ID) {
			t.Errorf("id %q is no UUIDv7", order.ID)
		}
		if want := (orderAnswer{order.ID, "BOOK", 2, 19800, "accepted"}); order != want {
			t.Errorf("got %+v, want %+v", order, want)
		}
		if location := got.header.Get("Location"); location != "/orders/"+order.ID {
			t.Errorf("Location is %q", location)
		}
		if now := p.get("/orders/"+order.ID, alice); now.status != 200 || now.body != got.body {
			t.Errorf("GET has %d %s, want %s", now.status, now.body, got.body)
		}
		db.wantRows(1, 1)
	})
}

func TestR2_1_ScopeIsTheAuthenticatedCaller(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		seen := map[string]string{}
		for _, token := range []string{alice, bob, carol} {
			got := p.send(request{
				method: "POST", path: "/orders", token: token, keys: []string{"same"}, body: book,
				header: map[string]string{"X-Tenant": "acme", "X-Demo-Tenant": "acme", "X-User": "alice"},
			})
			got.want(t, 201, "")
			if other, there := seen[got.body]; there {
				t.Errorf("%s got the order of %s", token, other)
			}
			seen[got.body] = token
		}
		db.wantRows(3, 3)
	})
}

func TestR2_2_MeaningNotFormatting(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		first := p.post("/orders", alice, "k", book)
		for _, body := range []string{
			`{"quantity":2,"sku":"BOOK"}`, " {\n\"sku\" : \"BOOK\" , \"quantity\" : 2.0 }\n", `{"sku":"\u0042OOK","quantity":2e0}`, `{"sku":"BOOK","quantity":20e-1}`,
		} {
			p.post("/orders", alice, "k", body).wantReplayed(t, first)
		}
		p.post("/orders", alice, `"k"`, book).wantReplayed(t, first)
		p.post("/orders", alice, "k", `{"sku":"book","quantity":2}`).want(t, 422, "key_reused")
		p.post("/orders", alice, "k", `{"sku":"BOOK","quantity":2,"checkoutRef":"c"}`).want(t, 422, "key_reused")
		db.wantRows(1, 1)
	})
}

func TestR2_3_ReplayIsTheFirstAnswerAfterTheOrderHasMovedOn(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		first := p.post("/orders", alice, "k", book)
		db.exec("UPDATE orders SET status = 'shipped'")
		p.end()
		fresh := db.start() // its memory knows nothing
		fresh.post("/orders", alice, "k", book).wantReplayed(t, first)
		if now := fresh.get(first.header.Get("Location"), alice); !regexp.MustCompile(`"status":"shipped"`).MatchString(now.body) {
			t.Errorf("the order itself is %s, want it shipped", now.body)
		}
		db.wantRows(1, 1)
	})
}

func TestR2_5_WaitsASecondThen503AndReplaysLater(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		g := newGate()
		p := db.startGated(g)
		first := later(func() answer { return p.post("/orders", alice, "k", book) })
		g.awaitEntered(t)
		checkWait(t, p)
		g.release <- nil
		placed := await(t, first)
		placed.want(t, 201, "")
		p.post("/orders", alice, "k", book).wantReplayed(t, placed)
		db.wantRows(1, 1)
	})
}

func TestR2_5_WaitsASecondForAnotherProcess(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	g := newGate()
	p, other := db.startGated(g), db.start()
	first := later(func() answer { return p.post("/orders", alice, "k", book) })
	g.awaitEntered(t)
	checkWait(t, other)
	waiting := later(func() answer { return other.post("/orders", alice, "k", book) })
	g.release <- nil
	placed := await(t, first)
	await(t, waiting).wantReplayed(t, placed)
	db.wantRows(1, 1)
}

func checkWait(t *testing.T, p *process) {
	t.Helper()
	began := time.Now()
	got := p.post("/orders", alice, "k", book)
	took := time.Since(began)
	got.want(t, 503, "in_flight")
	if got.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q, want 1", got.header.Get("Retry-After"))
	}
	if took < 900*time.Millisecond || took > 10*time.Second {
		t.Errorf("it was told after %v, want about a second", took)
	}
}

func TestR2_6_ValidationReservesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		p.post("/orders", alice, "k", `{"sku":"BOOK","quantity":0}`).want(t, 400, "body_invalid")
		db.wantRows(0, 0)
		p.post("/orders", alice, "k", book).want(t, 201, "")
		db.wantRows(1, 1)
	})
}

func TestR2_6_FailureBeforeCommitReleasesTheClaim(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		g := newGate()
		p := db.startGated(g)
		g.release <- errors.New("the warehouse burns: BOOK")
		got := p.post("/orders", alice, "k", book)
		got.want(t, 500, "internal")
		if regexp.MustCompile("warehouse|BOOK").MatchString(got.body) {
			t.Errorf("the answer tells what went wrong inside: %s", got.body)
		}
		db.wantRows(0, 0)
		g.release <- nil
		p.post("/orders", alice, "k", book).want(t, 201, "")
		db.wantRows(1, 1)
	})
}

func TestR2_7_TwelveAtOnceAreOneOrder(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		answers := atOnce(12, func(int) answer { return p.post("/orders", alice, "k", book) })
		for _, got := range answers {
			got.want(t, 201, "")
			got.wantSame(t, answers[0])
		}
		db.wantRows(1, 1)
	})
}

func TestR2_7_OverlappingChangedPayloadsAreOneOrderAndAConflict(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		g := newGate()
		p := db.startGated(g)
		first := later(func() answer { return p.post("/orders", alice, "k", book) })
		g.awaitEntered(t)
		second := later(func() answer { return p.post("/orders", alice, "k", `{"sku":"BOOK","quantity":3}`) })
		g.release <- nil
		await(t, first).want(t, 201, "")
		await(t, second).want(t, 422, "key_reused")
		db.wantRows(1, 1)
	})
}

func TestR2_7_TheFirstRolledBackTheOtherMayWin(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		g := newGate()
		p := db.startGated(g)
		first := later(func() answer { return p.post("/orders", alice, "k", book) })
		g.awaitEntered(t)
		second := later(func() answer { return p.post("/orders", alice, "k", `{"sku":"BOOK","quantity":3}`) })
		g.release <- errors.New("lost")
		await(t, first).want(t, 500, "internal")
		g.release <- nil
		await(t, second).want(t, 201, "")
		p.post("/orders", alice, "k", book).want(t, 422, "key_reused")
		db.wantRows(1, 1)
	})
}

func TestR2_12_OneOrderPerCheckout(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		checkout := `{"sku":"BOOK","quantity":2,"checkoutRef":"cart-7"}`
		first := p.post("/orders", alice, "k1", checkout)
		first.want(t, 201, "")
		for _, token := range []string{alice, bob} { // unique per tenant, whoever asks
			for range 2 {
				got := p.post("/orders", token, "k2", checkout)
				got.want(t, 409, "checkout_already_ordered")
				if regexp.MustCompile(first.header.Get("Location")[len("/orders/"):]).MatchString(got.body) {
					t.Errorf("the refusal tells the first order: %s", got.body)
				}
			}
		}
		db.wantRows(1, 1)
		p.post("/orders", alice, "k1", checkout).wantReplayed(t, first)
		p.post("/orders", carol, "k2", checkout).want(t, 201, "") // another tenant's checkout
		// The refusal was not recorded: the key may still stand for something else.
		p.post("/orders", alice, "k2", `{"sku":"BOOK","quantity":2,"checkoutRef":"cart-8"}`).want(t, 201, "")
		db.wantRows(3, 3)
	})
}

func TestR2_12_TwentyKeysForOneCheckoutAreOneOrder(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		placed := 0
		for _, got := range atOnce(20, func(i int) answer {
			return p.post("/orders", alice, fmt.Sprint("k", i), `{"sku":"BOOK","quantity":2,"checkoutRef":"cart-7"}`)
		}) {
			if got.status == http.StatusCreated {
				placed++
				continue
			}
			got.want(t, 409, "checkout_already_ordered")
		}
		if placed != 1 {
			t.Errorf("%d were told that they placed the order", placed)
		}
		db.wantRows(1, 1)
	})
}
