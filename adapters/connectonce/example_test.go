package connectonce_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/connectonce"
	"github.com/onceward/onceward/memstore"
	"github.com/onceward/onceward/rpconce"
)

type tx struct{} // pgx.Tx in a service on PostgreSQL

const createOrderProcedure = "/shop.v1.Orders/CreateOrder" // a constant of the generated package

// An order that is sent twice is one order.
func Example() {
	engine, err := onceward.New(memstore.New(func() tx { return tx{} }), onceward.Options{})
	if err != nil {
		panic(err)
	}
	door, err := rpconce.New(engine, rpconce.Options{
		Scope: func(context.Context) (onceward.Scope, error) { // a real service asks what its interceptor has authenticated
			return onceward.Scope{Tenant: "acme", Principal: "alice"}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	orders := 0
	procedures := connectonce.New(door)
	connectonce.Handle(procedures, createOrderProcedure, &onceward.Operation{Name: "create-order.v1"},
		func(_ context.Context, _ tx, r *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
			orders++ // INSERT INTO orders, through the transaction
			return connect.NewResponse(wrapperspb.String(fmt.Sprintf("order %d: %s", orders, r.Msg.Value))), nil
		})

	// A generated service does this, by shopv1connect.NewOrdersHandler(service, connect.WithInterceptors(procedures)).
	mux := http.NewServeMux()
	mux.Handle(createOrderProcedure, connect.NewUnaryHandler(createOrderProcedure,
		func(context.Context, *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
			return nil, connect.NewError(connect.CodeUnimplemented, nil)
		}, connect.WithInterceptors(procedures)))
	server := httptest.NewServer(mux)
	defer server.Close()

	client := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](server.Client(), server.URL+createOrderProcedure)
	for _, sku := range []string{"BOOK", "BOOK", "PEN"} {
		request := connect.NewRequest(wrapperspb.String(sku))
		request.Header().Set(rpconce.HeaderKey, "8e03978e-40d5-43dd-bc93-6894a57f9324")
		response, err := client.CallUnary(context.Background(), request)
		if err != nil {
			fmt.Println(connect.CodeOf(err))
			continue
		}
		fmt.Printf("%s %q\n", response.Msg.Value, response.Header().Get(rpconce.HeaderReplayed))
	}
	// Output:
	// order 1: BOOK ""
	// order 1: BOOK "true"
	// failed_precondition
}
