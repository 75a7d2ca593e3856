package connectonce_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/connectonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/internal/conformtest"
	"github.com/onceward/onceward/rpconce"
)

func fullName(procedure string) string { return "/conform.v1.Orders/" + procedure }

type (
	request  = connect.Request[structpb.Struct]
	response = connect.Response[structpb.Struct]
)

// unimplemented is what a generated service answers for a method that it does not have.
func unimplemented(context.Context, *request) (*response, error) {
	return nil, connect.NewError(connect.CodeUnimplemented, errors.New("not here"))
}

func inquire(_ context.Context, r *request) (*response, error) {
	return connect.NewResponse(r.Msg), nil
}

// authKey is where the authenticating interceptor leaves what it knows.
type authKey struct{}

type authenticated struct {
	name      string
	suspended bool
}

func authenticate(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		name, _ := strings.CutPrefix(r.Header().Get("Authorization"), "Bearer ")
		return next(context.WithValue(ctx, authKey{}, authenticated{name, r.Header().Get("Suspended") != ""}), r)
	}
}

func caller(ctx context.Context) (onceward.Scope, error) {
	who, _ := ctx.Value(authKey{}).(authenticated)
	if who.name == "" {
		return onceward.Scope{}, errors.New("no credentials")
	}
	return onceward.Scope{Tenant: "acme", Principal: who.name}, nil
}

func permit(ctx context.Context, _ *rpconce.Call) error {
	if ctx.Value(authKey{}).(authenticated).suspended {
		return errors.New("suspended")
	}
	return nil
}

func recovered(context.Context, connect.Spec, http.Header, any) error {
	return connect.NewError(connect.CodeInternal, errors.New("panic"))
}

// serve serves the procedures over TLS, in HTTP/2 and HTTP/1.1, until the test's end.
func serve(t testing.TB, interceptors ...connect.Interceptor) *httptest.Server {
	t.Helper()
	options := connect.WithHandlerOptions(
		connect.WithRecover(recovered),
		connect.WithInterceptors(append([]connect.Interceptor{connect.UnaryInterceptorFunc(authenticate)}, interceptors...)...),
		connect.WithReadMaxBytes(conformtest.LargeMessage),
	)
	mux := http.NewServeMux()
	for procedure, own := range map[string]func(context.Context, *request) (*response, error){
		conformtest.Create: unimplemented, conformtest.Await: unimplemented, conformtest.Inquire: inquire,
	} {
		mux.Handle(fullName(procedure), connect.NewUnaryHandler(fullName(procedure), own, options))
	}
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// place is the handler of the suite.
func place(s *conformtest.Service[*conform.Tx]) func(ctx context.Context, tx *conform.Tx, r *request) (*response, error) {
	return func(ctx context.Context, tx *conform.Tx, r *request) (*response, error) {
		text, err := r.Msg.MarshalJSON()
		if err != nil {
			return nil, err
		}
		var order conform.Order
		if err := json.Unmarshal(text, &order); err != nil {
			return nil, err
		}
		answer := s.Place(ctx, tx, order)
		switch {
		case errors.Is(answer.Err, conform.ErrFailed):
			return nil, connect.NewError(connect.Code(conformtest.FailedCode), errors.New("failed"))
		case answer.Err != nil:
			return nil, answer.Err
		case answer.Final:
			return nil, connectonce.Conclude(connect.NewError(connect.Code(conformtest.ConcludedCode), errors.New("concluded")))
		case answer.Status >= 400:
			return nil, connect.NewError(connect.Code(conformtest.RefusedCode), errors.New("refused"))
		}
		out := connect.NewResponse(&structpb.Struct{})
		if session := answer.Header["Set-Cookie"]; session != "" {
			out.Header().Set("Session", session)
		}
		return out, out.Msg.UnmarshalJSON(answer.Body)
	}
}

// send makes a call of the suite.
func send(server *httptest.Server, options ...connect.ClientOption) func(ctx context.Context, c conformtest.Call) conformtest.Reply {
	return func(ctx context.Context, c conformtest.Call) conformtest.Reply {
		if c.Procedure == "" {
			c.Procedure = conformtest.Create
		}
		text, _ := json.Marshal(c.Order) // cannot fail
		in := &structpb.Struct{}
		_ = in.UnmarshalJSON(text) // cannot fail
		r := connect.NewRequest(in)
		for _, line := range c.Keys {
			r.Header().Add(rpconce.HeaderKey, line)
		}
		switch c.Caller {
		case "":
			r.Header().Set("Authorization", "Bearer alice")
		case "nobody":
		default:
			r.Header().Set("Authorization", "Bearer "+c.Caller)
		}
		if c.Suspended {
			r.Header().Set("Suspended", "yes")
		}
		client := connect.NewClient[structpb.Struct, structpb.Struct](server.Client(), server.URL+fullName(c.Procedure), options...)
		out, err := client.CallUnary(ctx, r)
		if err != nil {
			return failure(err)
		}
		body, _ := json.Marshal(out.Msg.AsMap()) // cannot fail; its members are sorted
		reply := of(out.Header())
		reply.Body = string(body)
		return reply
	}
}

func of(header http.Header) conformtest.Reply {
	return conformtest.Reply{
		Replayed: header.Values(rpconce.HeaderReplayed), ID: header.Get(rpconce.HeaderID), Session: header.Get("Session"),
	}
}

func failure(err error) conformtest.Reply {
	e := (*connect.Error)(nil)
	if !errors.As(err, &e) {
		return conformtest.Reply{Code: rpconce.Code(connect.CodeOf(err)), Message: err.Error()}
	}
	r := of(e.Meta())
	r.Code, r.Message = rpconce.Code(e.Code()), e.Message()
	for _, detail := range e.Details() {
		value, err := detail.Value()
		if err != nil {
			r.Reason = err.Error()
		}
		switch d := value.(type) {
		case *errdetails.ErrorInfo:
			if r.Reason, r.ErrorID = d.Reason, d.Metadata["id"]; d.Domain != rpconce.ErrorDomain {
				r.Reason = "of " + d.Domain
			}
		case *errdetails.RetryInfo:
			r.Retry = d.RetryDelay.AsDuration()
		}
	}
	return r
}

// calls is the service of the suite.
func calls(t *testing.T, options ...connect.ClientOption) conformtest.Calls {
	t.Helper()
	s, door := conformtest.NewCalls(t, caller, permit)
	procedures := connectonce.New(door)
	connectonce.Handle(procedures, fullName(conformtest.Create), conformtest.Orders, place(s))
	connectonce.Handle(procedures, fullName(conformtest.Await), conformtest.Patient, place(s))
	return conformtest.Calls{Stage: &s.Stage, Send: send(serve(t, procedures), options...)}
}

func TestConform(t *testing.T) {
	t.Parallel()
	conformtest.RunCalls(t, "connectonce", calls(t))
}

func TestConformInGRPC(t *testing.T) {
	t.Parallel()
	conformtest.PlayCalls(t, calls(t, connect.WithGRPC()))
}

func TestConformInGRPCWeb(t *testing.T) {
	t.Parallel()
	conformtest.PlayCalls(t, calls(t, connect.WithGRPCWeb()))
}

func TestConformInJSON(t *testing.T) {
	t.Parallel()
	conformtest.PlayCalls(t, calls(t, connect.WithProtoJSON()))
}
