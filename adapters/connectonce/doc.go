// Package connectonce serves onceward's operations in Connect, in its three protocols: an interceptor of unary calls.
//
//	door, err := rpconce.New(engine, rpconce.Options{Scope: caller})
//	procedures := connectonce.New(door)
//	connectonce.Handle(procedures, ordersv1connect.OrdersCreateOrderProcedure, createOrder, s.createOrder)
//	mux.Handle(ordersv1connect.NewOrdersHandler(s, connect.WithInterceptors(authenticate, procedures)))
//
// The handler of such a procedure is the function that Handle was given, so that it gets its transaction as an argument; the
// service's own method of that name is not called: s embeds ordersv1connect.UnimplementedOrdersHandler. A handler that lacks
// the interceptor answers unimplemented, and carries nothing out. All other procedures, and all streams, pass untouched. The
// interceptor comes last: those behind it are not asked for its procedures. A panic goes on to connect.WithRecover, rolled back.
//
// The door's errors have a google.rpc.ErrorInfo with the domain "onceward.dev" and a reason to branch on, and where the same
// call may be sent again a google.rpc.RetryInfo:
//
//	invalid_argument      KEY_MISSING, KEY_MALFORMED, KEY_REPEATED, KEY_TOO_LONG
//	unauthenticated       UNAUTHENTICATED
//	permission_denied     FORBIDDEN
//	failed_precondition   KEY_REUSED, EXPIRED
//	unavailable           IN_FLIGHT, NOT_COMMITTED, UNAVAILABLE, UNRESOLVED
//	internal              ANSWER_TOO_LARGE, INTERNAL
package connectonce
