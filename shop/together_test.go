package shop

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestStockAndMoneyAddUp: orders are placed, paid, cancelled, opened again, shipped and refunded at the same moment, by two
// processes, everything twice. Whoever came first, what is left in the tables adds up.
func TestStockAndMoneyAddUp(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		const orders, stock, callers = 10, 14, 12
		processes := []*process{db.start(), db.start()}
		db.stock("acme", "BOOK", stock)
		ids := make([]string, 0, orders)
		for i := range orders {
			if a := processes[0].post("/orders", alice, fmt.Sprint("order-", i), book); a.status == 201 {
				ids = append(ids, a.header.Get("Location")[len("/orders/"):])
			} else {
				a.want(t, 409, "out_of_stock")
			}
		}
		db.wantCount("orders", stock/2)
		atOnce(callers, func(caller int) answer {
			random := rand.New(rand.NewPCG(uint64(caller), 1))
			for n := range 25 {
				p, id := processes[random.IntN(2)], ids[random.IntN(len(ids))]
				key := fmt.Sprintf("%d-%d", caller, n)
				act := []func() answer{
					func() answer { return p.notify(alice, "P-"+key, id, 19800) },
					func() answer { return p.send(request{method: "POST", path: "/orders/" + id + "/cancel", token: bob}) },
					func() answer { return p.send(request{method: "POST", path: "/orders/" + id + "/reopen", token: alice}) },
					func() answer { return p.ship(alice, id, "S-"+key, "DHL") },
					func() answer {
						return p.post("/refunds", alice, "R-"+key, fmt.Sprintf(`{"orderId":%q,"amountCents":7000}`, id))
					},
					func() answer { return p.post("/orders", bob, "O-"+key, book) },
				}[random.IntN(6)]
				for range 2 {
					if a := insist(act); a.status >= 500 || a.status < 200 {
						t.Errorf("answered %d %s", a.status, a.body)
					}
				}
			}
			return answer{}
		})
		sum := func(query string) (n int) {
			t.Helper()
			if err := db.db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		const live = "FROM orders WHERE status <> 'cancelled'"
		if available, reserved := sum("SELECT available FROM stock"), 2*sum("SELECT count(*) "+live); available+reserved != stock || available < 0 {
			t.Errorf("%d are available and %d are reserved, want %d together", available, reserved, stock)
		}
		paid := sum("SELECT count(*) FROM orders WHERE status IN ('paid', 'shipped')")
		db.wantCount("payments", paid)
		db.wantCount("payments JOIN orders ON orders.id = order_id AND status IN ('paid', 'shipped')", paid)
		db.wantCount("shipments", sum("SELECT count(*) FROM orders WHERE status = 'shipped'"))
		db.wantCount("orders WHERE refunded_cents > 14000", 0)
		if given, noted := 7000*sum("SELECT count(*) FROM refunds"), sum("SELECT CAST(COALESCE(sum(refunded_cents), 0) AS DECIMAL(20, 0)) FROM orders"); given != noted {
			t.Errorf("%d cents were refunded, and the orders say %d", given, noted)
		}
		// Each round ends at most once: all but an order's last are cancelled.
		rounds := sum("SELECT CAST(sum(round) AS DECIMAL(20, 0)) FROM orders")
		db.wantCount("cancellations", rounds-sum("SELECT count(*) "+live))
	})
}
