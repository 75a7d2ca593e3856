package chi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/memstore"
)

type tx struct{} // pgx.Tx in a service on PostgreSQL

// An order that is sent twice is one order.
func Example() {
	engine, err := onceward.New(memstore.New(func() tx { return tx{} }), onceward.Options{})
	if err != nil {
		panic(err)
	}
	door, err := httponce.New(engine, httponce.Options{
		Scope: func(*http.Request) (onceward.Scope, error) { // a real service asks its session or token
			return onceward.Scope{Tenant: "acme", Principal: "alice"}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	type newOrder struct{ SKU string }
	orders := 0
	router := chi.NewRouter()
	router.Method(http.MethodPost, "/shops/{shop}/orders", httponce.JSON(door, &onceward.Operation{Name: "create-order.v1"},
		func(ctx context.Context, _ tx, _ newOrder) (*httponce.Answer, error) {
			orders++ // INSERT INTO orders, through the transaction
			shop := chi.URLParam(httponce.CallFrom(ctx).Request, "shop")
			return httponce.Created(fmt.Sprintf("/shops/%s/orders/%d", shop, orders), map[string]int{"number": orders}), nil
		}))
	router.Handle(httponce.ContractPath, httponce.Contract(door))
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/shops/7/orders", strings.NewReader(`{"sku":"BOOK"}`))
		r.Header.Set("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		body := strings.TrimSpace(w.Body.String())
		fmt.Println(strings.TrimSpace(fmt.Sprintln(w.Code, w.Header().Get("Location"), body, w.Header().Get("Idempotent-Replayed"))))
	}
	// Output:
	// 201 /shops/7/orders/1 {"number":1}
	// 201 /shops/7/orders/1 {"number":1} true
}
