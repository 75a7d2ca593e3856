package fiberonce_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/fiberonce"
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
	orders := 0
	app := fiber.New()
	app.Post("/orders", fiberonce.Handle(door, &onceward.Operation{Name: "create-order.v1"}, func(c fiber.Ctx, _ tx) error {
		orders++ // INSERT INTO orders, through the transaction
		return c.Status(http.StatusCreated).JSON(fiber.Map{"number": orders})
	}))
	app.Get(httponce.ContractPath, adaptor.HTTPHandler(httponce.Contract(door)))
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(`{"sku":"BOOK"}`))
		r.Header.Set("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
		response, err := app.Test(r)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(response.Body)
		fmt.Println(strings.TrimSpace(fmt.Sprintln(response.StatusCode, string(body), response.Header.Get("Idempotent-Replayed"))))
	}
	// Output:
	// 201 {"number":1}
	// 201 {"number":1} true
}
