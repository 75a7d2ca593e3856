package examples

import (
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

func Example_shadow() {
	s := start(`CREATE TABLE orders (id INTEGER PRIMARY KEY, sku TEXT, quantity INTEGER)`)
	defer s.stop()
	shadow := &onceward.Shadow{}
	engine := must(onceward.New(s.store, onceward.Options{Shadow: shadow}))
	door := must(httponce.New(engine, httponce.Options{Scope: caller}))
	s.mux.Handle("POST /orders", httponce.JSON(door, placeOrder, placeOrderOnce))

	s.send("POST /orders", `{"sku":"BOOK","quantity":2}`, "Idempotency-Key: purchase-001")
	s.send("POST /orders", `{"sku":"BOOK","quantity":2}`, "Idempotency-Key: purchase-001")
	s.send("POST /orders", `{"sku":"BOOK","quantity":3}`, "Idempotency-Key: purchase-001")
	s.send("POST /orders", `{"sku":"BOOK","quantity":2}`)
	for _, c := range shadow.Report() {
		fmt.Println(c.Operation, "commands:", c.Commands, "duplicates:", c.Duplicates, "reused keys:", c.Reused, "without a key:", c.NoKey)
	}
	// Output:
	// 201 {"id":1}
	// 201 {"id":2}
	// 201 {"id":3}
	// 201 {"id":4}
	// place-order.v1 commands: 4 duplicates: 1 reused keys: 1 without a key: 1
}
