package connectonce_test

import (
	"context"
	"strconv"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/connectonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/internal/conformtest"
	"github.com/onceward/onceward/rpconce"
)

// What is between the interceptor and the plain door is the adapter: the fields, and the messages' encoding. A request
// that no server has made has no procedure.
func BenchmarkWrapUnary(b *testing.B) {
	in := wrapperspb.Bytes(conformtest.BenchBody)
	encoded, err := proto.Marshal(in)
	meaning := append(rpconce.Prefix(""), encoded...)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.WithValue(context.Background(), authKey{}, authenticated{name: "alice"})
	for _, retry := range []string{"first", "retry"} {
		b.Run("adapter, "+retry, func(b *testing.B) {
			_, door := conformtest.NewCalls(b, caller, nil)
			procedures := connectonce.New(door)
			connectonce.Handle(procedures, "", conformtest.Orders,
				func(context.Context, *conform.Tx, *connect.Request[wrapperspb.BytesValue]) (*connect.Response[wrapperspb.BytesValue], error) {
					return connect.NewResponse(in), nil
				})
			serve := procedures.WrapUnary(nil)
			each(b, retry == "retry", func(key string) error {
				r := connect.NewRequest(in)
				r.Header()["Idempotency-Key"] = []string{key}
				_, err := serve(ctx, r)
				return err
			})
		})
		b.Run("plain door, "+retry, func(b *testing.B) {
			_, door := conformtest.NewCalls(b, caller, nil)
			each(b, retry == "retry", func(key string) error {
				_, err := door.Do(ctx, conformtest.Orders, &rpconce.Call{}, []string{key}, meaning, func(context.Context, *conform.Tx) (onceward.Outcome, error) {
					return onceward.Outcome{Kind: rpconce.KindMessage, Data: encoded}, nil
				})
				return err
			})
		})
	}
}

func each(b *testing.B, retry bool, call func(key string) error) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key := "key"
		if !retry {
			key += strconv.Itoa(i)
		}
		if err := call(key); err != nil {
			b.Fatal(err)
		}
	}
}
