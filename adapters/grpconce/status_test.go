package grpconce_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/grpconce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/internal/conformtest"
	"github.com/onceward/onceward/rpconce"
)

func detailed(t *testing.T, code codes.Code, text string) error {
	t.Helper()
	s, err := status.New(code, text).WithDetails(&errdetails.ErrorInfo{Reason: "MINE", Domain: rpconce.ErrorDomain})
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

// call makes an alice's call of Create under the key k.
func call(t *testing.T, intercept grpc.UnaryServerInterceptor) conformtest.Reply {
	t.Helper()
	return send(serve(t, intercept))(t.Context(), conformtest.Call{Keys: []string{"k"}})
}

// A service's own words on who may do what are passed on, with their details.
func TestScopesOwnStatusIsAnswered(t *testing.T) {
	t.Parallel()
	unknown, suspended := detailed(t, codes.Unauthenticated, "log in"), detailed(t, codes.ResourceExhausted, "no credit")
	_, door := conformtest.NewCalls(t, func(context.Context) (onceward.Scope, error) { return onceward.Scope{}, unknown }, nil)
	methods := grpconce.New(door)
	accept := func(context.Context, *conform.Tx, *structpb.Struct) (*structpb.Struct, error) { return nil, nil }
	grpconce.Handle(methods, fullName(conformtest.Create), conformtest.Orders, accept)
	if r := call(t, methods.Intercept); r.Code != rpconce.Unauthenticated || r.Message != "log in" || r.Reason != "MINE" {
		t.Errorf("answered %+v", r)
	}
	_, door = conformtest.NewCalls(t, caller, func(context.Context, *rpconce.Call) error { return suspended })
	methods = grpconce.New(door)
	grpconce.Handle(methods, fullName(conformtest.Create), conformtest.Orders, accept)
	if r := call(t, methods.Intercept); codes.Code(r.Code) != codes.ResourceExhausted || r.Message != "no credit" || r.Reason != "MINE" {
		t.Errorf("answered %+v", r)
	}
}

// A final error is replayed with its details, and an empty answer with nothing.
func TestFinalErrorKeepsItsDetails(t *testing.T) {
	t.Parallel()
	_, door := conformtest.NewCalls(t, caller, nil)
	methods := grpconce.New(door)
	declined := detailed(t, codes.FailedPrecondition, "declined")
	grpconce.Handle(methods, fullName(conformtest.Create), conformtest.Orders,
		func(context.Context, *conform.Tx, *structpb.Struct) (*structpb.Struct, error) {
			return nil, errors.Join(errors.New("wrapped"), grpconce.Conclude(declined))
		})
	client := send(serve(t, methods.Intercept))
	for i := range 2 {
		r := client(t.Context(), conformtest.Call{Keys: []string{"k"}})
		if r.Code != rpconce.FailedPrecondition || r.Message != "declined" || r.Reason != "MINE" || len(r.Replayed) != i {
			t.Errorf("answer %d: %+v", i+1, r)
		}
	}
}

// The door's error names the result, for the support.
func TestErrorNamesTheResult(t *testing.T) {
	t.Parallel()
	s, door := conformtest.NewCalls(t, caller, nil)
	methods := grpconce.New(door)
	grpconce.Handle(methods, fullName(conformtest.Create), conformtest.Orders, place(s))
	conn := serve(t, methods.Intercept)
	ids := map[string]bool{}
	for quantity := range 2 {
		r := send(conn)(t.Context(), conformtest.Call{Keys: []string{"k"}, Order: conform.Order{Reference: "r", Quantity: quantity}})
		ids[r.ID] = r.Code == 0
		if r.Code != 0 && (r.Reason != "KEY_REUSED" || r.ErrorID == "" || !ids[r.ErrorID]) {
			t.Errorf("answered %+v, the results are %v", r, ids)
		}
	}
}

func TestMethodWithoutItsInterceptorCarriesNothingOut(t *testing.T) {
	t.Parallel()
	r := call(t, func(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(ctx, in)
	})
	if codes.Code(r.Code) != codes.Unimplemented {
		t.Errorf("answered %+v", r)
	}
}

func TestHandlerForAnotherMessageIsAnError(t *testing.T) {
	t.Parallel()
	_, door := conformtest.NewCalls(t, caller, nil)
	methods := grpconce.New(door)
	grpconce.Handle(methods, fullName(conformtest.Create), conformtest.Orders,
		func(context.Context, *conform.Tx, *wrapperspb.StringValue) (*structpb.Struct, error) { return nil, nil })
	if r := call(t, methods.Intercept); r.Code != rpconce.Internal {
		t.Errorf("answered %+v", r)
	}
}

func TestHandleRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	_, door := conformtest.NewCalls(t, caller, nil)
	methods := grpconce.New(door)
	handle := func(op *onceward.Operation) (refused bool) {
		defer func() { refused = recover() != nil }()
		grpconce.Handle(methods, "/m", op, func(context.Context, *conform.Tx, *structpb.Struct) (*structpb.Struct, error) { return nil, nil })
		return false
	}
	for i, op := range []*onceward.Operation{nil, conformtest.Orders, conformtest.Orders} {
		if refused := handle(op); refused != (i != 1) {
			t.Errorf("Handle %d refused: %v", i+1, refused)
		}
	}
}
