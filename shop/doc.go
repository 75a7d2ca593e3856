// Package shop is onceward's reference order service: every pattern in use, over HTTP, on every database.
//
// The service is written once, generic over the store's transaction type. What a database does for it is [Orders], with
// one implementation a database (postgres.go, sqlite.go) that can be read side by side. [New] makes the handler of an
// engine and its orders; [Open] wires a database, the engine and the handler together.
//
//	POST /orders       a checkout: the answer is stored and replayed; a duplicate waits for the first (orders_post.go)
//	POST /api/orders   an order API: the orders table guards the key after its record is gone (api_orders.go)
//	GET /orders        the tenant's orders, newest first (list.go), and GET /orders/{id}
package shop
