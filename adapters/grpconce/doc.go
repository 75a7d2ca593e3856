// Package grpconce serves onceward's operations in gRPC: an interceptor of unary calls.
//
//	door, err := rpconce.New(engine, rpconce.Options{Scope: caller})
//	methods := grpconce.New(door)
//	grpconce.Handle(methods, pb.Orders_CreateOrder_FullMethodName, createOrder, s.createOrder)
//	server := grpc.NewServer(grpc.ChainUnaryInterceptor(authenticate, methods.Intercept))
//	pb.RegisterOrdersServer(server, s) // s embeds pb.UnimplementedOrdersServer
//
// The handler of such a method is the function that Handle was given, so that it gets its transaction as an argument; the
// service's own method of that name is not called. A server that lacks the interceptor answers Unimplemented, and carries
// nothing out. All other methods, and all streams, pass untouched. The interceptor comes last in its chain: those behind it
// are not asked for its methods. A panic goes on to the chain, rolled back.
//
// The door's errors have a google.rpc.ErrorInfo with the domain "onceward.dev" and a reason to branch on, and where the same
// call may be sent again a google.rpc.RetryInfo:
//
//	INVALID_ARGUMENT      KEY_MISSING, KEY_MALFORMED, KEY_REPEATED, KEY_TOO_LONG
//	UNAUTHENTICATED       UNAUTHENTICATED
//	PERMISSION_DENIED     FORBIDDEN
//	FAILED_PRECONDITION   KEY_REUSED, EXPIRED
//	UNAVAILABLE           IN_FLIGHT, NOT_COMMITTED, UNAVAILABLE, UNRESOLVED
//	INTERNAL              ANSWER_TOO_LARGE, INTERNAL
package grpconce
