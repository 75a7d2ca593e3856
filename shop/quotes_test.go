package shop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// quoted asks for a quote.
func (p *process) quoted(token, body string) quoteAnswer {
	p.t.Helper()
	return p.tokenOf(p.send(request{method: "POST", path: "/quotes", token: token, body: body}))
}

// another asks for a further token of a quote.
func (p *process) another(token, quoteID string) quoteAnswer {
	p.t.Helper()
	return p.tokenOf(p.send(request{method: "POST", path: "/quotes/" + quoteID + "/tokens", token: token}))
}

func (p *process) tokenOf(a answer) (q quoteAnswer) {
	p.t.Helper()
	a.want(p.t, 201, "")
	if err := json.Unmarshal([]byte(a.body), &q); err != nil || q.Token == "" || q.QuoteID == "" || q.ExpiresAt.IsZero() || a.header.Get("Cache-Control") != "no-store" {
		p.t.Fatalf("a quote is answered with %v %s", a.header, a.body)
	}
	return q
}

func (p *process) confirm(token string, q quoteAnswer, more string) answer {
	p.t.Helper()
	return p.send(request{method: "POST", path: "/quotes/" + q.QuoteID + "/confirm", token: token, body: fmt.Sprintf(`{"token":%q%s}`, q.Token, more)})
}

// F39: a double click on Pay, handled in parallel.
func TestR3_7_F39_AQuoteIsOrderedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		db.stock("acme", "BOOK", 10)
		q := one.quoted(alice, book)
		if q.PriceCents != 19800 || time.Until(q.ExpiresAt) > 5*time.Minute || time.Until(q.ExpiresAt) < 3*time.Minute {
			t.Errorf("the quote is %+v", q)
		}
		answers := atOnce(20, func(i int) answer { return []*process{one, two}[i%2].confirm(alice, q, "") })
		for _, a := range append(answers, one.confirm(alice, q, "")) {
			a.want(t, 201, "")
			if a.body != answers[0].body || a.header.Get("Location") != answers[0].header.Get("Location") {
				t.Errorf("got %s, want the first order %s", a.body, answers[0].body)
			}
		}
		one.get(answers[0].header.Get("Location"), alice).want(t, 200, "")
		db.wantCount("orders", 1)
		db.wantStock("acme", "BOOK", 8)
	})
}

func TestR3_7_TwoTokensOfAQuoteAreOneOrder(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		q := one.quoted(alice, book)
		tokens := []quoteAnswer{q, one.another(alice, q.QuoteID)}
		if tokens[1].Token == q.Token || tokens[1].QuoteID != q.QuoteID || tokens[1].PriceCents != q.PriceCents || !tokens[1].ExpiresAt.Equal(q.ExpiresAt) {
			t.Fatalf("the second token of %+v is %+v", q, tokens[1])
		}
		won := map[string]bool{}
		for i, a := range atOnce(20, func(i int) answer { return []*process{one, two}[i%2].confirm(alice, tokens[i/2%2], "") }) {
			if a.status == 201 {
				won[tokens[i/2%2].Token] = true
				continue
			}
			a.want(t, 409, "quote_already_ordered")
		}
		if len(won) != 1 {
			t.Errorf("%d tokens have placed an order, want 1", len(won))
		}
		one.confirm(alice, one.another(alice, q.QuoteID), "").want(t, 409, "quote_already_ordered")
		db.wantCount("orders", 1)
	})
}

func TestR3_7_EveryStateOfAToken(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		q, foreign := p.quoted(alice, book), p.quoted(alice, `{"sku":"PEN","quantity":1}`)
		lookup := func(token, state string) {
			t.Helper()
			a := p.send(request{method: "GET", path: "/idempotency/confirm-quote.v1", token: alice, keys: []string{token}})
			a.want(t, 200, "")
			if !strings.Contains(a.body, `"state":"`+state+`"`) || state == "completed" && !strings.Contains(a.body, `"location":"/orders/`) {
				t.Errorf("the token is looked up as %s, want %s", a.body, state)
			}
		}
		lookup(q.Token, "issued")
		for _, not := range []string{bob, carol} { // of the tenant or not: it is alice's
			p.confirm(not, q, "").want(t, 404, "quote_unknown")
			p.send(request{method: "POST", path: "/quotes/" + q.QuoteID + "/tokens", token: not}).want(t, 404, "quote_unknown")
		}
		p.confirm("", q, "").want(t, 401, "unauthenticated")
		p.confirm(alice, quoteAnswer{QuoteID: q.QuoteID, Token: "a-guess"}, "").want(t, 404, "quote_unknown")
		p.confirm(alice, quoteAnswer{QuoteID: q.QuoteID, Token: foreign.Token}, "").want(t, 404, "quote_unknown")
		p.confirm(alice, q, `,"quantity":3`).want(t, 422, "quote_mismatch")
		p.confirm(alice, q, `,"colour":"red"`).want(t, 400, "body_invalid")
		db.wantCount("orders", 0)

		first := p.confirm(alice, q, `,"quantity":2,"sku":"BOOK","priceCents":19800`)
		first.want(t, 201, "")
		lookup(q.Token, "completed")
		p.confirm(alice, q, `,"quantity":3`).want(t, 422, "key_reused")
		p.confirm(alice, q, "").want(t, 422, "key_reused")
		p.confirm(alice, quoteAnswer{QuoteID: foreign.QuoteID, Token: q.Token}, "").want(t, 422, "key_reused")
		p.end()

		// Past the time to submit: an unused token is over, the used one confirms its order.
		db.exec("UPDATE quotes SET expires_ms = 1")
		past := map[Kind]string{
			KindPostgres: "expires_at = now()", KindMySQL: "expires_at = UTC_TIMESTAMP(6)", KindSQLite: "expires_at = 1",
		}[db.kind]
		db.exec("UPDATE " + recordTable + " SET " + past + " WHERE state = 'issued'")
		p = db.start()
		lookup(foreign.Token, "expired")
		lookup(q.Token, "completed")
		p.confirm(alice, foreign, "").want(t, 410, "quote_expired")
		p.send(request{method: "POST", path: "/quotes/" + foreign.QuoteID + "/tokens", token: alice}).want(t, 410, "quote_expired")
		if again := p.confirm(alice, q, `,"quantity":2,"sku":"BOOK","priceCents":19800`); again.status != 201 || again.body != first.body {
			t.Errorf("the order is confirmed with %d %s, want %s", again.status, again.body, first.body)
		}
		db.wantCount("orders", 1)
	})
}

// A token that is younger than its quote is no reason to sell at an old price.
func TestR3_7_PriceStockAndTimeAreLookedAtAgain(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		db.stock("acme", "BOOK", 1)
		q := p.quoted(alice, book)
		p.confirm(alice, q, "").want(t, 409, "out_of_stock")
		db.exec("UPDATE quotes SET price_cents = 1")
		p.confirm(alice, q, "").want(t, 409, "price_changed")
		db.exec("UPDATE quotes SET price_cents = 19800, expires_ms = 1")
		p.confirm(alice, q, "").want(t, 410, "quote_expired")
		db.wantStock("acme", "BOOK", 1)
		db.wantCount("orders", 0)
		db.exec(fmt.Sprintf("UPDATE quotes SET expires_ms = %d", time.Now().Add(time.Minute).UnixMilli()))
		db.exec("UPDATE stock SET available = 2")
		p.confirm(alice, q, "").want(t, 201, "") // the token is as it was
		db.wantStock("acme", "BOOK", 0)
	})
}

func TestR3_7_ACrashInTheMiddleLeavesTheTokenUnused(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		q := db.start().quoted(alice, book)
		g := newGate()
		gated := db.startGated(g)
		g.release <- fmt.Errorf("the power is gone")
		gated.confirm(alice, q, "").want(t, 500, "internal")
		db.wantCount("orders", 0)
		g.release <- nil
		first := later(func() answer { return gated.confirm(alice, q, "") })
		await(t, first).want(t, 201, "")
		db.wantCount("orders", 1)
	})
}

// The first use is still under way: that is no invalid token.
func TestR3_7_AFirstUseUnderWayIsInFlight(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		other := db.start()
		q := other.quoted(alice, book)
		g := newGate()
		gated := db.startGated(g)
		first := later(func() answer { return gated.confirm(alice, q, "") })
		g.awaitEntered(t)
		if db.kind != KindSQLite { // there the file has one writer, who is waited for
			a := other.confirm(alice, q, "")
			a.want(t, 503, "in_flight")
		}
		g.release <- nil
		await(t, first).want(t, 201, "")
		other.confirm(alice, q, "").want(t, 201, "")
		db.wantCount("orders", 1)
	})
}

func TestQuoteLifeIsBounded(t *testing.T) {
	t.Parallel()
	for _, life := range []time.Duration{-1, time.Millisecond, 25 * time.Hour} {
		if _, err := Open(t.Context(), t.TempDir()+"/shop.db", Options{Callers: DemoCallers(), QuoteLife: life}); err == nil || !strings.Contains(err.Error(), "QuoteLife") {
			t.Errorf("a quote's life of %v: %v", life, err)
		}
	}
}
