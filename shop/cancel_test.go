package shop

import (
	"fmt"
	"strings"
	"testing"
)

// ordered is the id of an order that was placed now.
func (p *process) ordered(token, key, body string) string {
	p.t.Helper()
	a := p.post("/orders", token, key, body)
	a.want(p.t, 201, "")
	return strings.TrimPrefix(a.header.Get("Location"), "/orders/")
}

// stock says what can be had of a SKU.
func (d *database) stock(tenant, sku string, available int) {
	d.t.Helper()
	d.exec(fmt.Sprintf("INSERT INTO stock (tenant, sku, available) VALUES ('%s', '%s', %d)", tenant, sku, available))
}

// wantStock checks what can be had of a SKU.
func (d *database) wantStock(tenant, sku string, want int) {
	d.t.Helper()
	if d.count(fmt.Sprintf("stock WHERE tenant = '%s' AND sku = '%s' AND available = %d", tenant, sku, want)) != 1 {
		d.t.Errorf("the stock of %s of %s is not %d", sku, tenant, want)
	}
}

// wantCount checks how many rows there are: the effects.
func (d *database) wantCount(from string, want int) {
	d.t.Helper()
	if got := d.count(from); got != want {
		d.t.Errorf("%s: got %d rows, want %d", from, got, want)
	}
}

func TestR3_2_CancelHappensOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		db.stock("acme", "BOOK", 10)
		id := one.ordered(alice, "k", book)
		db.wantStock("acme", "BOOK", 8)
		path := "/orders/" + id + "/cancel"
		for i, a := range atOnce(20, func(i int) answer {
			return []*process{one, two}[i%2].send(request{method: "POST", path: path, token: []string{alice, bob}[i/2%2]})
		}) {
			if a.status != 200 || !strings.Contains(a.body, `"status":"cancelled"`) {
				t.Errorf("request %d: got %d with %s, want a cancelled order", i, a.status, a.body)
			}
		}
		one.send(request{method: "POST", path: path, token: alice}).want(t, 200, "")
		db.wantCount("cancellations", 1)
		db.wantStock("acme", "BOOK", 10)
	})
}

func TestR3_2_CancelIsRefusedAsTheStateSays(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		id := p.ordered(alice, "k", book)
		path := "/orders/" + id + "/cancel"
		p.send(request{method: "POST", path: path, token: carol}).want(t, 404, "order_unknown")
		p.send(request{method: "POST", path: path}).want(t, 401, "unauthenticated")
		p.send(request{method: "POST", path: "/orders/no-id/cancel", token: alice}).want(t, 404, "order_unknown")
		p.send(request{method: "POST", path: path, token: alice, body: `{"round":0}`}).want(t, 400, "body_invalid")
		p.send(request{method: "POST", path: path, token: alice, body: `{"round":2}`}).want(t, 409, "round_over")
		for status, code := range map[string]string{"paid": "order_paid", "shipped": "order_not_pending"} {
			db.exec("UPDATE orders SET status = '" + status + "'")
			p.send(request{method: "POST", path: path, token: alice}).want(t, 409, code)
		}
		db.wantCount("cancellations", 0)
	})
}

// A retry that comes late names the round that it was meant for.
func TestR3_2_LateCancelDoesNotTouchTheNextRound(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		db.stock("acme", "BOOK", 2)
		id := p.ordered(alice, "k", book)
		send := func(verb, body string) answer {
			return p.send(request{method: "POST", path: "/orders/" + id + "/" + verb, token: alice, body: body})
		}
		send("reopen", "").want(t, 409, "order_not_cancelled")
		send("cancel", `{"round":1}`).want(t, 200, "")
		for range 2 { // the second is a retry
			send("reopen", `{"round":1}`).want(t, 200, "")
		}
		send("cancel", `{"round":1}`).want(t, 409, "round_over")
		db.wantStock("acme", "BOOK", 0)
		p.post("/orders", bob, "other", book).want(t, 409, "out_of_stock")
		send("cancel", `{"round":2}`).want(t, 200, "")
		send("reopen", `{"round":1}`).want(t, 409, "round_over")
		db.wantCount("cancellations", 2)
		db.wantStock("acme", "BOOK", 2)
		p.post("/orders", bob, "other", book).want(t, 201, "") // the refusal was not recorded
		send("reopen", "").want(t, 409, "out_of_stock")
	})
}
