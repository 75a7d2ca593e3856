package grpconce

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/rpconce"
)

// Methods are the methods of a server that a door is in front of. They are registered before the server serves; then
// they are safe for concurrent use.
type Methods[Tx any] struct {
	door     *rpconce.Door[Tx]
	handlers map[string]grpc.UnaryHandler
}

// New has no methods yet.
func New[Tx any](door *rpconce.Door[Tx]) *Methods[Tx] {
	return &Methods[Tx]{door: door, handlers: map[string]grpc.UnaryHandler{}}
}

// Intercept is a grpc.UnaryServerInterceptor.
func (m *Methods[Tx]) Intercept(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if handler := m.handlers[info.FullMethod]; handler != nil {
		return handler(ctx, in)
	}
	return next(ctx, in)
}

// Handle serves the method of a full name by a handler that gets its transaction as an argument. An answer without an
// error is committed, recorded and replayed; an error rolls back and is answered as it is; Conclude makes one final. The
// handler's context is the work's; rpconce.CallFrom(ctx) is its call. A store may run the handler again, with a fresh
// message. Handle panics if the operation is not valid, or if the method has a handler.
func Handle[Tx any, In, Out proto.Message](m *Methods[Tx], method string, op *onceward.Operation, h func(ctx context.Context, tx Tx, in In) (Out, error)) {
	if err := op.Validate(); err != nil {
		panic("grpconce: " + err.Error())
	}
	if m.handlers[method] != nil {
		panic("grpconce: " + method + " has a handler")
	}
	prefix := rpconce.Prefix(method)
	m.handlers[method] = func(ctx context.Context, received any) (any, error) {
		in, ok := received.(In)
		if !ok {
			return nil, status.Errorf(codes.Internal, "grpconce: the handler of %s is for another message", method)
		}
		meaning, err := encoding.MarshalAppend(prefix, in)
		if err != nil {
			return nil, status.Error(codes.InvalidArgument, "The message cannot be encoded.")
		}
		v := &visit[In, Out]{in: in, encoded: meaning[len(prefix):]}
		keys := metadata.ValueFromIncomingContext(ctx, rpconce.HeaderKey)
		call := &rpconce.Call{Procedure: method, Message: in}
		result, err := m.door.Do(ctx, op, call, keys, meaning, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			return v.attempt(func(in In) (Out, error) { return h(ctx, tx, in) })
		})
		if err != nil {
			return nil, translate(err)
		}
		_ = grpc.SetHeader(ctx, fields(result)) // fails where the handler has sent its header
		return v.answer(result)
	}
}

func fields(result onceward.Result) metadata.MD {
	if result.Replayed {
		return metadata.MD{rpconce.HeaderID: {result.ID}, rpconce.HeaderReplayed: {"true"}}
	}
	return metadata.MD{rpconce.HeaderID: {result.ID}}
}
