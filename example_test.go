package onceward_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/memstore"
)

// Tx stands for the store's transaction: pgx.Tx with pgxstore, sqlstore.Tx with sqlitestore.
type Tx struct{}

var (
	createOrder     = &onceward.Operation{Name: "create-order.v1", Retention: 24 * time.Hour, Wait: time.Second}
	paymentReceived = &onceward.Operation{Name: "payment-received.v1", Retention: 30 * 24 * time.Hour, Per: onceward.Tenant}
)

func ExampleRun() {
	engine, err := onceward.New(memstore.New(func() Tx { return Tx{} }), onceward.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	type NewOrder struct{ SKU string }
	type Order struct{ ID, SKU string }
	caller := onceward.Scope{Tenant: "acme", Principal: "alice"} // from the authenticated request
	order := func(in NewOrder) {
		order, err := onceward.Run(context.Background(), engine, createOrder.For(caller, "7f9c24e8", in),
			func(_ context.Context, _ Tx) (Order, error) {
				fmt.Println("insert into orders …")
				return Order{ID: "1", SKU: in.SKU}, nil
			})
		fmt.Println(order, errors.Is(err, onceward.ErrKeyReused))
	}
	order(NewOrder{SKU: "BOOK"})
	order(NewOrder{SKU: "BOOK"})
	order(NewOrder{SKU: "PEN"})
	// Output:
	// insert into orders …
	// {1 BOOK} false
	// {1 BOOK} false
	// { } true
}

func ExampleEngine_Do() {
	engine, err := onceward.New(memstore.New(func() Tx { return Tx{} }), onceward.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	caller := onceward.Scope{Tenant: "acme", Principal: "alice"}
	stock := 0
	work := func(context.Context, Tx) (onceward.Outcome, error) {
		if stock == 0 {
			return onceward.Outcome{}, errors.New("sold out") // rolls back: a retry runs again
		}
		return onceward.Outcome{Kind: "text", Data: []byte("order 1")}, nil
	}
	for range 3 {
		result, err := engine.Do(context.Background(), createOrder.For(caller, "7f9c24e8", "one book"), work)
		fmt.Printf("%q replayed: %t, %v\n", result.Outcome.Data, result.Replayed, err)
		stock = 1
	}
	// Output:
	// "" replayed: false, sold out
	// "order 1" replayed: false, <nil>
	// "order 1" replayed: true, <nil>
}

// A message that is delivered twice is consumed once: the key is the message's identity.
func ExampleEngine_Once() {
	engine, err := onceward.New(memstore.New(func() Tx { return Tx{} }), onceward.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	source := onceward.Scope{Tenant: "acme"}
	for range 2 {
		err := engine.Once(context.Background(), paymentReceived.For(source, "evt_1", []byte(`{"amount":9900}`)),
			func(context.Context, Tx) error {
				fmt.Println("update orders set paid = true …")
				return nil
			})
		fmt.Println("acknowledged:", err == nil)
	}
	// Output:
	// update orders set paid = true …
	// acknowledged: true
	// acknowledged: true
}

func ExampleEngine_Find() {
	engine, err := onceward.New(memstore.New(func() Tx { return Tx{} }), onceward.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	command := createOrder.For(onceward.Scope{Tenant: "acme", Principal: "alice"}, "7f9c24e8", nil)
	record, err := engine.Find(context.Background(), command)
	fmt.Println(record == nil, err)
	_, _ = engine.Do(context.Background(), command, func(context.Context, Tx) (onceward.Outcome, error) { return onceward.Outcome{}, nil })
	record, err = engine.Find(context.Background(), command)
	fmt.Println(record.State, err)
	// Output:
	// true <nil>
	// completed <nil>
}
