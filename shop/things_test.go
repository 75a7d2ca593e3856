package shop

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// insist sends again while the first attempt runs, as a client does.
func insist(send func() answer) (a answer) {
	for range 60 {
		if a = send(); a.status != 503 {
			break
		}
	}
	return a
}

// R1.8: what has a client's key, and the table that it writes.
var keyed = []struct {
	path, table, body, other, wrong string
}{
	{"/coupons", "coupons", `{"campaign":"SPRING"}`, `{"campaign":"AUTUMN"}`, `{"campaign":""}`},
	{"/tasks", "tasks", `{"title":"Call the customer"}`, `{"title":"Write to the customer"}`, `{"title":"\u0000"}`},
	{"/refunds", "refunds", `{"orderId":"ORDER","amountCents":100}`, `{"orderId":"ORDER","amountCents":200}`, `{"orderId":"ORDER","amountCents":0}`},
}

func TestR1_8_EveryOperationHappensOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		order := strings.NewReplacer("ORDER", one.paid(alice, "order"))
		for _, c := range keyed {
			body := order.Replace(c.body)
			answers := atOnce(20, func(i int) answer {
				return insist(func() answer { return []*process{one, two}[i%2].post(c.path, alice, "k", body) })
			})
			for _, a := range append(answers, one.post(c.path, alice, "k", " "+body)) {
				if a.want(t, 201, ""); a.body != answers[0].body {
					t.Errorf("%s: got %s, want the first answer %s", c.path, a.body, answers[0].body)
				}
			}
			db.wantCount(c.table, 1)
			one.post(c.path, alice, "k", order.Replace(c.other)).want(t, 422, "key_reused")
			one.post(c.path, alice, "wrong", order.Replace(c.wrong)).want(t, 400, "body_invalid")
			one.post(c.path, "", "k", body).want(t, 401, "unauthenticated")
			one.send(request{method: "POST", path: c.path, token: alice, body: body}).want(t, 400, "key_missing")
			one.post(c.path, bob, "k", body).want(t, 201, "") // bob's own
			db.wantCount(c.table, 2)

			place := answers[0].header.Get("Location")
			if got := one.get(place, bob); got.status != 200 || got.body != answers[0].body {
				t.Errorf("%s is answered with %d %s, want %s", place, got.status, got.body, answers[0].body)
			}
			one.get(place, carol).want(t, 404, "unknown")
			one.get(c.path+"/none", alice).want(t, 404, "unknown")
		}
	})
}

func TestR1_8_AFailureInTheMiddleLeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		order := strings.NewReplacer("ORDER", db.start().paid(alice, "order"))
		g := newGate()
		p := db.startGated(g)
		for _, c := range keyed {
			g.release <- errors.New("the power is gone")
			p.post(c.path, alice, "k", order.Replace(c.body)).want(t, 500, "internal")
			db.wantCount(c.table, 0)
			g.release <- nil
			p.post(c.path, alice, "k", order.Replace(c.body)).want(t, 201, "")
			db.wantCount(c.table, 1)
		}
		db.wantCount("orders WHERE refunded_cents = 100", 1)
	})
}

func TestR1_8_RefundsDoNotExceedThePayment(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		pending, paid := one.ordered(alice, "pending", book), one.paid(alice, "paid")
		refund := func(p *process, token, key, order string, cents int) answer {
			return insist(func() answer {
				return p.post("/refunds", token, key, fmt.Sprintf(`{"orderId":%q,"amountCents":%d}`, order, cents))
			})
		}
		refund(one, alice, "1", pending, 1).want(t, 409, "order_not_paid")
		refund(one, carol, "1", paid, 1).want(t, 404, "order_unknown")
		refund(one, alice, "1", "01a23248-ec4e-7b07-812f-57a0bae1a016", 1).want(t, 404, "order_unknown")
		refund(one, alice, "1", paid, 19801).want(t, 409, "refund_exceeds_payment")
		made := 0
		for _, a := range atOnce(20, func(i int) answer {
			return refund([]*process{one, two}[i%2], alice, fmt.Sprint("at-once-", i), paid, 1980)
		}) {
			if a.status == 201 {
				made++
				continue
			}
			a.want(t, 409, "refund_exceeds_payment")
		}
		if made != 10 {
			t.Errorf("%d refunds of a tenth were made, want 10", made)
		}
		db.wantCount("refunds", 10)
		db.wantCount("orders WHERE refunded_cents = amount_cents", 1)
	})
}

// preference sets alice's, or another's.
func (p *process) preference(token, user, body, match string) answer {
	p.t.Helper()
	r := request{method: "PUT", path: "/users/" + user + "/preferences/email-notifications", token: token, body: body}
	if match != "" {
		r.header = map[string]string{"If-Match": match}
	}
	return p.send(r)
}

const (
	emailOn  = `{"enabled":true}`
	emailOff = `{"enabled":false}`
)

func TestR3_4_AValueIsSetOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		path := "/users/alice/preferences/email-notifications"
		wantTag := func(a answer, tag, body string) {
			t.Helper()
			if a.status != 200 || a.header.Get("ETag") != tag || strings.TrimSpace(a.body) != body {
				t.Errorf("got %d %s %s, want %s %s", a.status, a.header.Get("ETag"), a.body, tag, body)
			}
		}
		wantTag(one.get(path, alice), `"0"`, emailOn)
		for _, a := range atOnce(20, func(i int) answer { return []*process{one, two}[i%2].preference(alice, "alice", emailOff, "") }) {
			wantTag(a, `"1"`, emailOff)
		}
		wantTag(one.get(path, alice), `"1"`, emailOff)
		one.preference(alice, "alice", emailOn, `"0"`).want(t, 412, "precondition_failed")
		one.preference(alice, "alice", emailOn, `1`).want(t, 400, "precondition_malformed")
		wantTag(one.preference(alice, "alice", emailOn, `"0", "1"`), `"2"`, emailOn)
		one.preference(alice, "alice", emailOff, `"1"`).want(t, 412, "precondition_failed") // late
		db.wantCount("preferences", 1)

		for _, not := range []string{bob, carol} {
			one.preference(not, "alice", emailOff, "").want(t, 404, "user_unknown")
			one.get(path, not).want(t, 404, "user_unknown")
		}
		one.preference("", "alice", emailOff, "").want(t, 401, "unauthenticated")
		for _, body := range []string{``, `{}`, `{"enabled":"false"}`, `{"enabled":null}`, `{"enabled":true,"toggle":true}`, `{"enabled":true,"enabled":false}`, `{"enabled":true} {}`} {
			one.preference(alice, "alice", body, "").want(t, 400, "body_invalid")
		}
		wantTag(one.get(path, alice), `"2"`, emailOn)
	})
}

// Of twenty that have seen the same version, those that would change it again are refused.
func TestR3_4_NoChangeIsLost(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		one.preference(alice, "alice", emailOff, "").want(t, 200, "")
		changed := 0
		for _, a := range atOnce(20, func(i int) answer {
			return insist(func() answer { return []*process{one, two}[i%2].preference(alice, "alice", emailOn, `"1"`) })
		}) {
			if a.status == 200 {
				changed++
				continue
			}
			a.want(t, 412, "precondition_failed")
		}
		if changed != 1 {
			t.Errorf("%d have changed version 1, want 1", changed)
		}
		db.wantCount("preferences WHERE version = 2", 1)
	})
}

// What comes with the change has a guard of its own.
func TestR3_4_TheCouponIsGivenOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		atOnce(20, func(i int) answer {
			return insist(func() answer {
				return []*process{one, two}[i%2].preference(alice, "alice", []string{emailOff, emailOn}[i/2%2], "")
			})
		})
		one.preference(alice, "alice", emailOff, "").want(t, 200, "")
		one.preference(alice, "alice", emailOn, "").want(t, 200, "")
		db.wantCount("coupons", 1)
		one.preference(bob, "bob", emailOff, "").want(t, 200, "")
		one.preference(bob, "bob", emailOn, "").want(t, 200, "")
		db.wantCount("coupons WHERE reason = 'email-notifications'", 2)
	})
}
