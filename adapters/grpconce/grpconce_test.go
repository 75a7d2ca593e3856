package grpconce_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/grpconce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/internal/conformtest"
	"github.com/onceward/onceward/rpconce"
)

const serviceName = "conform.v1.Orders"

func fullName(procedure string) string { return "/" + serviceName + "/" + procedure }

// description is a service whose messages are maps, as protoc-gen-go-grpc describes one. Its own methods answer nothing
// but Inquire.
func description() *grpc.ServiceDesc {
	desc := &grpc.ServiceDesc{ServiceName: serviceName, HandlerType: (*any)(nil)}
	for _, procedure := range []string{conformtest.Create, conformtest.Await, conformtest.Inquire} {
		desc.Methods = append(desc.Methods, grpc.MethodDesc{
			MethodName: procedure,
			Handler: func(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
				in := &structpb.Struct{}
				if err := decode(in); err != nil {
					return nil, err
				}
				own := func(_ context.Context, in any) (any, error) {
					if procedure != conformtest.Inquire {
						return nil, status.Error(codes.Unimplemented, procedure)
					}
					return in, nil
				}
				if interceptor == nil {
					return own(ctx, in)
				}
				return interceptor(ctx, in, &grpc.UnaryServerInfo{FullMethod: fullName(procedure)}, own)
			},
		})
	}
	return desc
}

// recovered answers panics, as the recovery interceptors do that services use.
func recovered(ctx context.Context, in any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	defer func() {
		if recover() != nil {
			err = status.Error(codes.Internal, "panic")
		}
	}()
	return next(ctx, in)
}

func first(ctx context.Context, name string) string {
	return strings.Join(metadata.ValueFromIncomingContext(ctx, name), ",")
}

func caller(ctx context.Context) (onceward.Scope, error) {
	name, ok := strings.CutPrefix(first(ctx, "authorization"), "Bearer ")
	if !ok {
		return onceward.Scope{}, errors.New("no credentials")
	}
	return onceward.Scope{Tenant: "acme", Principal: name}, nil
}

func permit(ctx context.Context, _ *rpconce.Call) error {
	if first(ctx, "suspended") != "" {
		return errors.New("suspended")
	}
	return nil
}

// serve serves the methods on a socket until the test's end, and gives a connection.
func serve(t testing.TB, intercept grpc.UnaryServerInterceptor) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(recovered, intercept), grpc.MaxRecvMsgSize(conformtest.LargeMessage))
	server.RegisterService(description(), nil)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return conn
}

// place is the handler of the suite.
func place(s *conformtest.Service[*conform.Tx]) func(ctx context.Context, tx *conform.Tx, in *structpb.Struct) (*structpb.Struct, error) {
	return func(ctx context.Context, tx *conform.Tx, in *structpb.Struct) (*structpb.Struct, error) {
		text, err := in.MarshalJSON()
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
			return nil, status.Error(codes.Code(conformtest.FailedCode), "failed")
		case answer.Err != nil:
			return nil, answer.Err
		case answer.Final:
			return nil, grpconce.Conclude(status.Error(codes.Code(conformtest.ConcludedCode), "concluded"))
		case answer.Status >= 400:
			return nil, status.Error(codes.Code(conformtest.RefusedCode), "refused")
		}
		if session := answer.Header["Set-Cookie"]; session != "" {
			if err := grpc.SetHeader(ctx, metadata.Pairs("session", session)); err != nil {
				return nil, err
			}
		}
		out := &structpb.Struct{}
		return out, out.UnmarshalJSON(answer.Body)
	}
}

// send makes a call of the suite.
func send(conn *grpc.ClientConn) func(ctx context.Context, c conformtest.Call) conformtest.Reply {
	return func(ctx context.Context, c conformtest.Call) conformtest.Reply {
		if c.Procedure == "" {
			c.Procedure = conformtest.Create
		}
		md := metadata.MD{}
		md.Append(rpconce.HeaderKey, c.Keys...)
		switch c.Caller {
		case "":
			md.Append("authorization", "Bearer alice")
		case "nobody":
		default:
			md.Append("authorization", "Bearer "+c.Caller)
		}
		if c.Suspended {
			md.Append("suspended", "yes")
		}
		text, _ := json.Marshal(c.Order) // cannot fail
		in, out, header := &structpb.Struct{}, &structpb.Struct{}, metadata.MD{}
		_ = in.UnmarshalJSON(text) // cannot fail
		err := conn.Invoke(metadata.NewOutgoingContext(ctx, md), fullName(c.Procedure), in, out, grpc.Header(&header))
		r := conformtest.Reply{
			Replayed: header.Get(rpconce.HeaderReplayed),
			ID:       strings.Join(header.Get(rpconce.HeaderID), ","),
			Session:  strings.Join(header.Get("session"), ","),
		}
		if err == nil {
			r.Body = canonical(out)
			return r
		}
		fail(&r, err)
		return r
	}
}

func canonical(m *structpb.Struct) string {
	text, _ := json.Marshal(m.AsMap()) // cannot fail; its members are sorted
	return string(text)
}

func fail(r *conformtest.Reply, err error) {
	s := status.Convert(err)
	r.Code, r.Message = rpconce.Code(s.Code()), s.Message()
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			r.Reason, r.ErrorID = d.Reason, d.Metadata["id"]
			if d.Domain != rpconce.ErrorDomain {
				r.Reason = "of " + d.Domain
			}
		case *errdetails.RetryInfo:
			r.Retry = d.RetryDelay.AsDuration()
		}
	}
}

func TestConform(t *testing.T) {
	t.Parallel()
	s, door := conformtest.NewCalls(t, caller, permit)
	methods := grpconce.New(door)
	grpconce.Handle(methods, fullName(conformtest.Create), conformtest.Orders, place(s))
	grpconce.Handle(methods, fullName(conformtest.Await), conformtest.Patient, place(s))
	conformtest.RunCalls(t, "grpconce", conformtest.Calls{Stage: &s.Stage, Send: send(serve(t, methods.Intercept))})
}
