package grpconce_test

import (
	"context"
	"strconv"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/grpconce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/internal/conformtest"
	"github.com/onceward/onceward/rpconce"
)

// What is between the interceptor and the plain door is the adapter: metadata, and the messages' encoding.
func BenchmarkIntercept(b *testing.B) {
	in := wrapperspb.Bytes(conformtest.BenchBody)
	encoded, err := proto.Marshal(in)
	meaning := append(rpconce.Prefix("/m"), encoded...)
	if err != nil {
		b.Fatal(err)
	}
	for _, retry := range []string{"first", "retry"} {
		b.Run("adapter, "+retry, func(b *testing.B) {
			_, door := conformtest.NewCalls(b, caller, nil)
			methods := grpconce.New(door)
			info := &grpc.UnaryServerInfo{FullMethod: "/m"}
			grpconce.Handle(methods, info.FullMethod, conformtest.Orders,
				func(context.Context, *conform.Tx, *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
					return in, nil
				})
			each(b, retry == "retry", func(ctx context.Context, _ string) error {
				_, err := methods.Intercept(ctx, in, info, nil)
				return err
			})
		})
		b.Run("plain door, "+retry, func(b *testing.B) {
			_, door := conformtest.NewCalls(b, caller, nil)
			each(b, retry == "retry", func(ctx context.Context, key string) error {
				call := &rpconce.Call{Procedure: "/m"}
				_, err := door.Do(ctx, conformtest.Orders, call, []string{key}, meaning, func(context.Context, *conform.Tx) (onceward.Outcome, error) {
					return onceward.Outcome{Kind: rpconce.KindMessage, Data: encoded}, nil
				})
				return err
			})
		})
	}
}

func each(b *testing.B, retry bool, call func(ctx context.Context, key string) error) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key := "key"
		if !retry {
			key += strconv.Itoa(i)
		}
		ctx := grpc.NewContextWithServerTransportStream(context.Background(), noStream{})
		ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("authorization", "Bearer alice", rpconce.HeaderKey, key))
		if err := call(ctx, key); err != nil {
			b.Fatal(err)
		}
	}
}

// noStream takes the header of an answer.
type noStream struct{ grpc.ServerTransportStream }

// SetHeader implements grpc.ServerTransportStream.
func (noStream) SetHeader(metadata.MD) error { return nil }
