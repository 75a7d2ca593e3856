package grpconce_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing" // in the place of a service's own package
	"google.golang.org/grpc/metadata"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/grpconce"
	"github.com/onceward/onceward/memstore"
	"github.com/onceward/onceward/rpconce"
)

type tx struct{} // pgx.Tx in a service on PostgreSQL

// shop is a service whose write gets its transaction as an argument.
type shop struct {
	pb.UnimplementedTestServiceServer
	orders int
}

func (s *shop) order(_ context.Context, _ tx, in *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	s.orders++ // INSERT INTO orders, through the transaction
	return &pb.SimpleResponse{Username: fmt.Sprintf("order %d: %s", s.orders, in.Payload.Body)}, nil
}

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
	service := &shop{}
	methods := grpconce.New(door)
	grpconce.Handle(methods, pb.TestService_UnaryCall_FullMethodName, &onceward.Operation{Name: "create-order.v1"}, service.order)

	server := grpc.NewServer(grpc.ChainUnaryInterceptor(methods.Intercept))
	pb.RegisterTestServiceServer(server, service)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer server.Stop()
	go func() { _ = server.Serve(listener) }()

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(context.Background(), rpconce.HeaderKey, "8e03978e-40d5-43dd-bc93-6894a57f9324")
	for _, sku := range []string{"BOOK", "BOOK", "PEN"} {
		header := metadata.MD{}
		in := &pb.SimpleRequest{Payload: &pb.Payload{Body: []byte(sku)}}
		out, err := pb.NewTestServiceClient(conn).UnaryCall(ctx, in, grpc.Header(&header))
		fmt.Println(out.GetUsername(), header.Get(rpconce.HeaderReplayed), err)
	}
	// Output:
	// order 1: BOOK [] <nil>
	// order 1: BOOK [true] <nil>
	//  [] rpc error: code = FailedPrecondition desc = The idempotency-key stands for a call with another meaning. Send a new key for a new action.
}
