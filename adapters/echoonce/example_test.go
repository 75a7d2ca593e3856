package echoonce_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/echoonce"
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
	e := echo.New()
	e.POST("/orders", echoonce.Handle(door, &onceward.Operation{Name: "create-order.v1"}, func(c echo.Context, _ tx) error {
		orders++ // INSERT INTO orders, through the transaction
		return c.JSON(http.StatusCreated, map[string]int{"number": orders})
	}))
	e.GET(httponce.ContractPath, echo.WrapHandler(httponce.Contract(door)))
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/orders", strings.NewReader(`{"sku":"BOOK"}`))
		r.Header.Set("Idempotency-Key", "8e03978e-40d5-43dd-bc93-6894a57f9324")
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		body := strings.TrimSpace(w.Body.String())
		fmt.Println(strings.TrimSpace(fmt.Sprintln(w.Code, body, w.Header().Get("Idempotent-Replayed"))))
	}
	// Output:
	// 201 {"number":1}
	// 201 {"number":1} true
}
