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

// exampleDoor is a door on a store in memory, for one caller.
func exampleDoor(o httponce.Options) *httponce.Door[tx] {
	engine, err := onceward.New(memstore.New(func() tx { return tx{} }), onceward.Options{})
	if err != nil {
		panic(err)
	}
	o.Scope = func(*http.Request) (onceward.Scope, error) {
		return onceward.Scope{Tenant: "acme", Principal: "alice"}, nil
	}
	door, err := httponce.New(engine, o)
	if err != nil {
		panic(err)
	}
	return door
}

// send posts a body under the key k and prints the answer.
func send(handler http.Handler, body string) {
	r := httptest.NewRequest("POST", "/payments", strings.NewReader(body))
	r.Header.Set("Idempotency-Key", "k")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	fmt.Println(strings.TrimSpace(fmt.Sprintln(w.Code, w.Body, w.Header().Get("Idempotent-Replayed"))))
}

// A declined payment is final: the retry is not charged again. An error rolls back, and the retry runs.
func ExampleConclude() {
	errBank := errors.New("the bank does not answer")
	door := exampleDoor(httponce.Options{Failure: func(err error) *httponce.Answer {
		if errors.Is(err, errBank) {
			return httponce.Refuse(http.StatusBadGateway, []byte("try again"))
		}
		return nil
	}})
	attempts := 0
	pay := door.Handle(&onceward.Operation{Name: "pay.v1"}, func(http.ResponseWriter, *http.Request, tx) error {
		if attempts++; attempts == 1 {
			return errBank
		}
		return httponce.Conclude(http.StatusPaymentRequired, []byte("declined"))
	})
	send(pay, "42")
	send(pay, "42")
	send(pay, "42")
	fmt.Println("attempts:", attempts)
	// Output:
	// 502 try again
	// 402 declined
	// 402 declined true
	// attempts: 2
}

// A handler that was written without the door takes its transaction from the request.
func ExampleDoor_Middleware() {
	legacy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := httponce.TxFrom[tx](r); !ok {
			http.Error(w, "no transaction", http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, "paid")
	})
	once := exampleDoor(httponce.Options{}).Middleware(&onceward.Operation{Name: "pay.v1"})
	send(once(legacy), "42")
	send(once(legacy), "42")
	// Output:
	// 200 paid
	// 200 paid true
}

// The work finds the key and the public id of its command, for a business table that keeps them.
func ExampleCallFrom() {
	handler := httponce.JSON(exampleDoor(httponce.Options{}), &onceward.Operation{Name: "pay.v1"},
		func(ctx context.Context, _ tx, _ int) (*httponce.Answer, error) {
			call := httponce.CallFrom(ctx)
			return httponce.OK([]string{call.Key, call.Scope.Principal, call.ID().Public()}), nil
		})
	send(handler, "42")
	// Output: 200 ["k","alice","mtm5rqvt4d51kcqb"]
}
