package shop

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"testing"
)

// read gets a page.
func (p *process) read(query, token string) (got struct {
	Orders []orderAnswer
	Next   *string
},
) {
	p.t.Helper()
	a := p.get("/orders"+query, token)
	a.want(p.t, 200, "")
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		p.t.Fatal(err)
	}
	return got
}

func TestListIsTheTenantsNewestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		if got := p.get("/orders", alice); got.body != `{"orders":[],"next":null}`+"\n" {
			t.Errorf("without orders: %s", got.body)
		}
		p.post("/orders", alice, "k", book).want(t, 201, "")
		p.post("/orders", carol, "k", `{"sku":"SECRET","quantity":1}`).want(t, 201, "")
		p.post("/api/orders", bob, "k", `{"userId":1,"skuId":9007199254740993,"quantity":3}`).want(t, 201, "")
		got := p.read("", alice).Orders
		if len(got) != 2 || got[0].ID == "" || got[1].ID == "" {
			t.Fatalf("got %+v", got)
		}
		got[0].ID, got[1].ID = "", ""
		want := []orderAnswer{{"", "9007199254740993", 3, 29700, "CREATED"}, {"", "BOOK", 2, 19800, "accepted"}}
		if !slices.Equal(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestListPages(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		for i := range 52 {
			p.post("/orders", alice, fmt.Sprint("k", i), fmt.Sprintf(`{"sku":"S%d","quantity":1}`, i)).want(t, 201, "")
		}
		if first := p.read("", alice); len(first.Orders) != 50 || first.Next == nil {
			t.Errorf("the default page has %d orders, want 50 and a next", len(first.Orders))
		}
		var skus []string
		query, pages := "?limit=13", 0
		for {
			page := p.read(query, alice)
			pages++
			for _, order := range page.Orders {
				skus = append(skus, order.SKU)
			}
			if page.Next == nil {
				break
			}
			if pages == 1 { // an order placed meanwhile moves no page
				p.post("/orders", alice, "late", book).want(t, 201, "")
			}
			query = "?limit=13&cursor=" + url.QueryEscape(*page.Next)
		}
		if pages != 4 || len(skus) != 52 {
			t.Errorf("got %d orders on %d pages, want 52 on 4", len(skus), pages)
		}
		for i, sku := range skus {
			if want := fmt.Sprint("S", 51-i); sku != want {
				t.Fatalf("at %d is %s, want %s", i, sku, want)
			}
		}
		if all := p.read("?limit=1000", alice); len(all.Orders) != 53 || all.Next != nil {
			t.Errorf("limit=1000 has %d orders", len(all.Orders))
		}
	})
}

func TestListRefusesABadLimitOrCursor(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		for _, query := range []string{
			"limit=0", "limit=1001", "limit=-1", "limit=x", "limit=", "limit=1.5", "limit=2e0", "limit=1&limit=2", "limit=99999999999999999999",
			"cursor=", "cursor=x", "cursor=AAAA", "cursor=AAAAAAAAAAAAAAAAAAAAAAA", "cursor=%00", "cursor=%zz", "limit=1;",
		} {
			p.get("/orders?"+query, alice).want(t, 400, "page_malformed")
		}
		p.get("/orders?limit=1", alice).want(t, 200, "")
		p.get("/orders?limit=1000", alice).want(t, 200, "")
	})
}

func TestGetOrder(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		location := p.post("/orders", alice, "k", book).header.Get("Location")
		p.get(location, bob).want(t, 200, "")                // of the same tenant
		p.get(location, carol).want(t, 404, "order_unknown") // of another
		p.get(location, "").want(t, 401, "unauthenticated")
		id := location[len("/orders/"):]
		for _, other := range []string{"x", "1", "01a22ef1-8150-7085-9cc4-14cf5c2f7e79", "urn:uuid:" + id, "{" + id + "}", "%00", "%27"} {
			p.get("/orders/"+other, alice).want(t, 404, "order_unknown")
		}
	})
}
