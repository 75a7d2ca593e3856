package connectonce_test

import (
	"context"
	"errors"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/connectonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/internal/conformtest"
	"github.com/onceward/onceward/rpconce"
)

func detailed(t *testing.T, code connect.Code, text string) error {
	t.Helper()
	detail, err := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: "MINE", Domain: rpconce.ErrorDomain})
	if err != nil {
		t.Fatal(err)
	}
	e := connect.NewError(code, errors.New(text))
	e.AddDetail(detail)
	return e
}

// create makes alice's call of Create under the key k, as often as is said, with h as the handler.
func create(t *testing.T, times int, scope func(context.Context) (onceward.Scope, error), authorize func(context.Context, *rpconce.Call) error, h func(context.Context, *conform.Tx, *request) (*response, error)) (replies []conformtest.Reply) {
	t.Helper()
	_, door := conformtest.NewCalls(t, scope, authorize)
	procedures := connectonce.New(door)
	connectonce.Handle(procedures, fullName(conformtest.Create), conformtest.Orders, h)
	client := send(serve(t, procedures))
	for range times {
		replies = append(replies, client(t.Context(), conformtest.Call{Keys: []string{"k"}}))
	}
	return replies
}

func accept(context.Context, *conform.Tx, *request) (*response, error) {
	return connect.NewResponse(&structpb.Struct{}), nil
}

// A service's own words on who may do what are passed on, with their details.
func TestScopesOwnErrorIsAnswered(t *testing.T) {
	t.Parallel()
	unknown, suspended := detailed(t, connect.CodeUnauthenticated, "log in"), detailed(t, connect.CodeResourceExhausted, "no credit")
	r := create(t, 1, func(context.Context) (onceward.Scope, error) { return onceward.Scope{}, unknown }, nil, accept)[0]
	if r.Code != rpconce.Unauthenticated || r.Message != "log in" || r.Reason != "MINE" {
		t.Errorf("answered %+v", r)
	}
	r = create(t, 1, caller, func(context.Context, *rpconce.Call) error { return suspended }, accept)[0]
	if connect.Code(r.Code) != connect.CodeResourceExhausted || r.Message != "no credit" || r.Reason != "MINE" {
		t.Errorf("answered %+v", r)
	}
}

// A final error is replayed with its details.
func TestFinalErrorKeepsItsDetails(t *testing.T) {
	t.Parallel()
	declined := detailed(t, connect.CodeFailedPrecondition, "declined")
	for i, r := range create(t, 2, caller, nil, func(context.Context, *conform.Tx, *request) (*response, error) {
		return nil, connectonce.Conclude(declined)
	}) {
		if r.Code != rpconce.FailedPrecondition || r.Message != "declined" || r.Reason != "MINE" || len(r.Replayed) != i || r.ID == "" {
			t.Errorf("answer %d: %+v", i+1, r)
		}
	}
	for i, r := range create(t, 2, caller, nil, func(context.Context, *conform.Tx, *request) (*response, error) {
		return nil, connectonce.Conclude(errors.New("plain"))
	}) {
		if connect.Code(r.Code) != connect.CodeUnknown || r.Message != "plain" || len(r.Replayed) != i {
			t.Errorf("answer %d: %+v", i+1, r)
		}
	}
}

// The door's error names the result, for the support.
func TestErrorNamesTheResult(t *testing.T) {
	t.Parallel()
	c := calls(t)
	first := c.Send(t.Context(), conformtest.Call{Keys: []string{"k"}, Order: conform.Order{Reference: "r"}})
	other := c.Send(t.Context(), conformtest.Call{Keys: []string{"k"}, Order: conform.Order{Reference: "r", Quantity: 1}})
	if other.Reason != "KEY_REUSED" || other.ErrorID == "" || other.ErrorID != first.ID {
		t.Errorf("answered %+v, then %+v", first, other)
	}
}

func TestProcedureWithoutItsInterceptorCarriesNothingOut(t *testing.T) {
	t.Parallel()
	if r := send(serve(t))(t.Context(), conformtest.Call{Keys: []string{"k"}}); connect.Code(r.Code) != connect.CodeUnimplemented {
		t.Errorf("answered %+v", r)
	}
}

func TestHandlerThatCannotBeServedIsAnError(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context, *conform.Tx, *request) (*response, error) { return nil, nil }
	if r := create(t, 1, caller, nil, nothing)[0]; r.Code != rpconce.Internal {
		t.Errorf("neither an answer nor an error: answered %+v", r)
	}
	_, door := conformtest.NewCalls(t, caller, nil)
	procedures := connectonce.New(door)
	connectonce.Handle(procedures, fullName(conformtest.Create), conformtest.Orders,
		func(context.Context, *conform.Tx, *connect.Request[wrapperspb.StringValue]) (*response, error) {
			return nil, nil
		})
	if r := send(serve(t, procedures))(t.Context(), conformtest.Call{Keys: []string{"k"}}); r.Code != rpconce.Internal {
		t.Errorf("another message: answered %+v", r)
	}
}

func TestHandleRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	_, door := conformtest.NewCalls(t, caller, nil)
	procedures := connectonce.New(door)
	refused := func(handle func()) (refused bool) {
		defer func() { refused = recover() != nil }()
		handle()
		return false
	}
	for name, c := range map[string]struct {
		handle func()
		want   bool
	}{
		"an operation that is none": {func() { connectonce.Handle(procedures, "/a", nil, accept) }, true},
		"as it should be":           {func() { connectonce.Handle(procedures, "/b", conformtest.Orders, accept) }, false},
		"twice": {func() {
			connectonce.Handle(procedures, "/c", conformtest.Orders, accept)
			connectonce.Handle(procedures, "/c", conformtest.Orders, accept)
		}, true},
		"a message that is none": {func() {
			connectonce.Handle(procedures, "/d", conformtest.Orders,
				func(context.Context, *conform.Tx, *connect.Request[string]) (*response, error) { return nil, nil })
		}, true},
	} {
		if got := refused(c.handle); got != c.want {
			t.Errorf("%s: refused %v", name, got)
		}
	}
}
