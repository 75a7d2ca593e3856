package httponce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/memstore"
)

type tx struct{} // pgx.Tx in a service on PostgreSQL

type newOrder struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

func (o newOrder) Validate() error {
	if o.Quantity < 1 || o.Quantity > 100 {
		return errors.New("the quantity must be an integer from 1 to 100")
	}
	return nil
}

// A request that is sent twice is one order and the same answer.
func Example() {
	createOrder := &onceward.Operation{Name: "create-order.v1", Retention: 24 * time.Hour, Wait: time.Second}
	engine, err := onceward.New(memstore.New(func() tx { return tx{} }), onceward.Options{})
	if err != nil {
		panic(err)
	}
	door, err := httponce.New(engine, httponce.Options{
		Scope: func(r *http.Request) (onceward.Scope, error) { // a real service asks its session or token
			return onceward.Scope{Tenant: "acme", Principal: "alice"}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	orders := 0
	mux := http.NewServeMux()
	mux.Handle("GET "+httponce.ContractPath, httponce.Contract(door))
	mux.Handle("POST /orders", httponce.JSON(door, createOrder, func(_ context.Context, _ tx, in newOrder) (*httponce.Answer, error) {
		orders++ // INSERT INTO orders, through the transaction
		return httponce.Created(fmt.Sprintf("/orders/%d", orders), in), nil
	}))
	server := httptest.NewServer(mux)
	defer server.Close()

	for _, quantity := range []int{2, 2, 3, 200} {
		r, _ := http.NewRequest("POST", server.URL+"/orders", strings.NewReader(fmt.Sprintf(`{"sku":"BOOK","quantity":%d}`, quantity)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", `"8e03978e-40d5-43dd-bc93-6894a57f9324"`)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			body = nil
		}
		line := fmt.Sprintln(response.StatusCode, response.Header.Get("Location"), response.Header.Get("Idempotent-Replayed"), string(body))
		fmt.Println(strings.TrimSpace(line))
	}
	fmt.Println("orders:", orders)
	// Output:
	// 201 /orders/1  {"sku":"BOOK","quantity":2}
	// 201 /orders/1 true {"sku":"BOOK","quantity":2}
	// 422
	// 400
	// orders: 1
}
