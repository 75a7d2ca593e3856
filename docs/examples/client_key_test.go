package examples

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/sqlstore"
)

var placeOrder = &onceward.Operation{Name: "place-order.v1", Retention: 24 * time.Hour, Wait: time.Second}

type newOrder struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// Validate is asked before anything is claimed. Its text is answered with 400.
func (o newOrder) Validate() error {
	if o.SKU == "" || o.Quantity < 1 {
		return errors.New("sku and quantity are needed")
	}
	return nil
}

func placeOrderOnce(ctx context.Context, tx sqlstore.Tx, in newOrder) (*httponce.Answer, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO orders (sku, quantity) VALUES (?, ?)`, in.SKU, in.Quantity)
	if err != nil {
		return nil, err
	}
	id, err := result.LastInsertId()
	return httponce.Created(fmt.Sprintf("/orders/%d", id), map[string]any{"id": id}), err
}

func Example_clientKey() {
	s := start(`CREATE TABLE orders (id INTEGER PRIMARY KEY, sku TEXT, quantity INTEGER)`)
	defer s.stop()
	s.mux.Handle("POST /orders", httponce.JSON(s.door, placeOrder, placeOrderOnce))

	s.send("POST /orders", `{"sku":"BOOK","quantity":2}`, "Idempotency-Key: purchase-001")
	s.send("POST /orders", `{"quantity":2,"sku":"BOOK"}`, "Idempotency-Key: purchase-001") // after a time-out, or a page refresh
	s.send("POST /orders", `{"sku":"BOOK","quantity":3}`, "Idempotency-Key: purchase-001")
	s.send("POST /orders", `{"sku":"BOOK","quantity":2}`, "Idempotency-Key: purchase-002") // a new intent has a new key
	s.send("POST /orders", `{"sku":"BOOK","quantity":2}`)
	s.send("POST /orders", `{"sku":"BOOK"}`, "Idempotency-Key: purchase-003")
	s.rows("orders")
	// Output:
	// 201 {"id":1}
	// 201 {"id":1} (replayed)
	// 422 key_reused
	// 201 {"id":2}
	// 400 key_missing
	// 400 body_invalid
	// orders: 2
}
