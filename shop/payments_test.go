package shop

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// notify tells of a payment; number and the rest of the body are as given.
func (p *process) notify(token, number, orderID string, cents int) answer {
	p.t.Helper()
	return p.send(request{
		method: "POST", path: "/payments/notifications", token: token,
		body: fmt.Sprintf(`{"channel":"A","merchantId":"M1","paymentNo":%q,"orderId":%q,"amountCents":%d}`, number, orderID, cents),
	})
}

// paid is the id of an order that was placed and paid.
func (p *process) paid(token, key string) string {
	p.t.Helper()
	id := p.ordered(token, key, book)
	p.notify(token, "P-"+key, id, 19800).want(p.t, 201, "")
	return id
}

// wantStatus checks the state of an order.
func (d *database) wantStatus(id, status string) {
	d.t.Helper()
	if d.count("orders WHERE id = '"+id+"' AND status = '"+status+"'") != 1 {
		d.t.Errorf("the order is not %s", status)
	}
}

func TestR3_1_APaymentIsNotedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		id, other := one.ordered(alice, "k", book), one.ordered(alice, "other", book)
		answers := atOnce(20, func(i int) answer {
			return insist(func() answer {
				return []*process{one, two}[i%2].notify([]string{alice, bob}[i/2%2], "P1001", id, 19800)
			})
		})
		for _, a := range append(answers, one.notify(bob, "P1001", id, 19800)) {
			if a.want(t, 201, ""); a.body != answers[0].body {
				t.Errorf("got %s, want the first answer %s", a.body, answers[0].body)
			}
		}
		one.notify(alice, "P1001", id, 19801).want(t, 409, "payment_mismatch")
		one.notify(alice, "P1001", other, 19800).want(t, 409, "payment_mismatch")
		one.notify(alice, "P1002", id, 19800).want(t, 409, "order_paid")
		one.notify(alice, "P1002", other, 1).want(t, 409, "payment_mismatch")
		db.wantCount("payments", 1)
		db.wantStatus(id, statusPaid)
		db.wantStatus(other, statusAccepted)
	})
}

func TestR3_1_APaymentIsItsTenants(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		id, hers := p.ordered(alice, "k", book), p.ordered(carol, "k", book)
		p.notify(carol, "P1001", id, 19800).want(t, 404, "order_unknown")
		p.notify("", "P1001", id, 19800).want(t, 401, "unauthenticated")
		p.notify(alice, "P1001", "01a23248-ec4e-7b07-812f-57a0bae1a016", 19800).want(t, 404, "order_unknown")
		p.notify(alice, "P1001", "none", 19800).want(t, 400, "body_invalid")
		db.wantCount("payments", 0)
		p.notify(alice, "P1001", id, 19800).want(t, 201, "")
		p.notify(carol, "P1001", hers, 19800).want(t, 201, "") // the same number at another tenant
		db.wantCount("payments", 2)
	})
}

// The record is gone; the table's own key says what stands.
func TestR3_1_ThePaymentsTableOutlivesTheRecord(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		id := p.ordered(alice, "k", book)
		first := p.notify(alice, "P1001", id, 19800)
		first.want(t, 201, "")
		p.end()
		for _, gone := range []func(){db.expire, func() { db.exec("DELETE FROM " + recordTable) }} {
			gone()
			p = db.start()
			p.notify(alice, "P1001", id, 1).want(t, 409, "payment_mismatch")
			if a := p.notify(bob, "P1001", id, 19800); a.status != 201 || a.body != first.body {
				t.Errorf("got %d with %s, want the first answer %s", a.status, a.body, first.body)
			}
			p.end()
		}
		db.wantCount("payments", 1)
	})
}

// F38: what is told late does not undo what has happened since.
func TestR3_1_F38_ALateNotificationMovesNoOrderBack(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		id := p.ordered(alice, "k", book)
		p.send(request{method: "POST", path: "/orders/" + id + "/cancel", token: alice}).want(t, 200, "")
		p.notify(alice, "P1001", id, 19800).want(t, 409, "order_cancelled")
		db.wantStatus(id, statusCancelled)
		shipped := p.paid(alice, "shipped")
		p.ship(alice, shipped, "S001", "DHL").want(t, 201, "")
		db.expire()
		db.exec("DELETE FROM " + recordTable)
		p.notify(alice, "P-shipped", shipped, 19800).want(t, 201, "") // the same answer again
		p.notify(alice, "P-other", shipped, 19800).want(t, 409, "order_paid")
		db.wantStatus(shipped, statusShipped)
	})
}

func TestR3_1_AFailureInTheMiddleLeavesNoPayment(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		id := db.start().ordered(alice, "k", book)
		g := newGate()
		p := db.startGated(g)
		g.release <- errors.New("the power is gone")
		p.notify(alice, "P1001", id, 19800).want(t, 500, "internal")
		db.wantCount("payments", 0)
		db.wantStatus(id, statusAccepted)
		g.release <- nil
		p.notify(alice, "P1001", id, 19800).want(t, 201, "")
		db.wantCount("payments", 1)
	})
}

// ship registers a shipping action.
func (p *process) ship(token, orderID, action, carrier string) answer {
	p.t.Helper()
	return p.send(request{
		method: "POST", path: "/orders/" + orderID + "/shipments", token: token,
		body: fmt.Sprintf(`{"actionNo":%q,"carrier":%q,"trackingNo":"T1"}`, action, carrier),
	})
}

func TestR3_3_AShippingActionHappensOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		id, other := one.paid(alice, "k"), one.paid(alice, "other")
		answers := atOnce(20, func(i int) answer {
			return insist(func() answer { return []*process{one, two}[i%2].ship([]string{alice, bob}[i/2%2], id, "S001", "DHL") })
		})
		for _, a := range append(answers, one.ship(bob, id, "S001", "DHL")) {
			if a.want(t, 201, ""); a.body != answers[0].body || !strings.Contains(a.body, `"actionNo":"S001"`) {
				t.Errorf("got %s, want the first answer %s", a.body, answers[0].body)
			}
		}
		one.ship(alice, id, "S001", "UPS").want(t, 409, "action_mismatch")
		one.ship(alice, other, "S001", "DHL").want(t, 409, "action_mismatch")
		one.ship(alice, id, "S002", "DHL").want(t, 409, "already_shipped")
		for _, action := range []string{"S001", "S002"} { // another tenant's person cannot tell it from one that is not there
			one.ship(carol, id, action, "DHL").want(t, 404, "order_unknown")
		}
		db.wantCount("shipments", 1)
		db.wantStatus(id, statusShipped)
		db.wantStatus(other, statusPaid)
	})
}

// Twenty actions for one order: one ships it, and the others are told.
func TestR3_3_AnOrderIsShippedByOneAction(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		id := one.paid(alice, "k")
		won := 0
		for _, a := range atOnce(20, func(i int) answer {
			return insist(func() answer { return []*process{one, two}[i%2].ship(alice, id, fmt.Sprintf("S%03d", i), "DHL") })
		}) {
			if a.status == 201 {
				won++
				continue
			}
			a.want(t, 409, "already_shipped")
		}
		if won != 1 {
			t.Errorf("%d actions have shipped the order, want 1", won)
		}
		db.wantCount("shipments", 1)
	})
}

func TestR3_3_AShippingActionIsRefusedAsTheStateSays(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		id := p.ordered(alice, "k", book)
		p.ship(alice, id, "S001", "DHL").want(t, 409, "order_not_paid")
		p.ship(carol, id, "S001", "DHL").want(t, 404, "order_unknown")
		p.ship("", id, "S001", "DHL").want(t, 401, "unauthenticated")
		p.ship(alice, "none", "S001", "DHL").want(t, 404, "order_unknown")
		p.ship(alice, id, "", "DHL").want(t, 400, "body_invalid")
		db.wantCount("shipments", 0)
		p.notify(alice, "P1001", id, 19800).want(t, 201, "")
		p.ship(alice, id, "S001", "DHL").want(t, 201, "") // the refusals were not recorded
	})
}

func TestR3_3_TheShipmentsTableOutlivesTheRecord(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		id := p.paid(alice, "k")
		first := p.ship(alice, id, "S001", "DHL")
		first.want(t, 201, "")
		p.end()
		db.exec("DELETE FROM " + recordTable)
		p = db.start()
		p.ship(alice, id, "S001", "UPS").want(t, 409, "action_mismatch")
		if a := p.ship(bob, id, "S001", "DHL"); a.status != 201 || a.body != first.body {
			t.Errorf("got %d with %s, want the first answer %s", a.status, a.body, first.body)
		}
		db.wantCount("shipments", 1)
	})
}

func TestR3_3_AFailureInTheMiddleShipsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		id := db.start().paid(alice, "k")
		g := newGate()
		p := db.startGated(g)
		g.release <- errors.New("the power is gone")
		p.ship(alice, id, "S001", "DHL").want(t, 500, "internal")
		db.wantStatus(id, statusPaid)
		g.release <- nil
		p.ship(alice, id, "S001", "DHL").want(t, 201, "")
		db.wantCount("shipments", 1)
	})
}
