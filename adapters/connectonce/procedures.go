package connectonce

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/rpconce"
)

// Procedures are the procedures that a door is in front of: a connect.Interceptor. They are registered before a handler is
// made with it; then they are safe for concurrent use.
type Procedures[Tx any] struct {
	door     *rpconce.Door[Tx]
	handlers map[string]connect.UnaryFunc
}

// New has no procedures yet.
func New[Tx any](door *rpconce.Door[Tx]) *Procedures[Tx] {
	return &Procedures[Tx]{door: door, handlers: map[string]connect.UnaryFunc{}}
}

// WrapUnary implements connect.Interceptor.
func (p *Procedures[Tx]) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, request connect.AnyRequest) (connect.AnyResponse, error) {
		if handler := p.handlers[request.Spec().Procedure]; handler != nil && !request.Spec().IsClient {
			return handler(ctx, request)
		}
		return next(ctx, request)
	}
}

// WrapStreamingClient implements connect.Interceptor; it does nothing.
func (p *Procedures[Tx]) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor; it does nothing.
func (p *Procedures[Tx]) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}

// Handle serves the procedure of a name by a handler that gets its transaction as an argument. An answer without an error
// is committed, recorded and replayed; an error rolls back and is answered as it is; Conclude makes one final. The
// handler's context is the work's; rpconce.CallFrom(ctx) is its call. A store may run the handler again, with a fresh
// message. Handle panics if the operation is not valid, if the procedure has a handler, or if *In and *Out are no messages
// of Protocol Buffers.
func Handle[Tx, In, Out any](p *Procedures[Tx], procedure string, op *onceward.Operation, h func(ctx context.Context, tx Tx, request *connect.Request[In]) (*connect.Response[Out], error)) {
	if err := op.Validate(); err != nil {
		panic("connectonce: " + err.Error())
	}
	_, in := any(new(In)).(proto.Message)
	_, out := any(new(Out)).(proto.Message)
	if p.handlers[procedure] != nil || !in || !out {
		panic("connectonce: " + procedure + " has a handler, or its messages are none of Protocol Buffers")
	}
	prefix := rpconce.Prefix(procedure)
	p.handlers[procedure] = func(ctx context.Context, received connect.AnyRequest) (connect.AnyResponse, error) {
		request, ok := received.(*connect.Request[In])
		if !ok {
			return nil, connect.NewError(connect.CodeInternal, fmt.Errorf("connectonce: the handler of %s is for another message", procedure))
		}
		meaning, err := encoding.MarshalAppend(prefix, message(request.Msg))
		if err != nil {
			return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("the message cannot be encoded"))
		}
		v := &visit[In, Out]{request: request, encoded: meaning[len(prefix):]}
		keys := request.Header()[http.CanonicalHeaderKey(rpconce.HeaderKey)]
		call := &rpconce.Call{Procedure: procedure, Message: request.Msg}
		result, err := p.door.Do(ctx, op, call, keys, meaning, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			return v.attempt(func(request *connect.Request[In]) (*connect.Response[Out], error) { return h(ctx, tx, request) })
		})
		if err != nil {
			return nil, translate(err)
		}
		return v.answer(result)
	}
}
