package connectonce

import (
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/rpconce"
)

// A store may run a work again: each attempt gets the message as it was sent, and the rest of the request.
func TestEachAttemptGetsAFreshMessage(t *testing.T) {
	t.Parallel()
	in, err := structpb.NewStruct(map[string]any{"n": 1})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := encoding.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	request := connect.NewRequest(in)
	request.Header().Set("Caller", "alice")
	v := &visit[structpb.Struct, structpb.Struct]{request: request, encoded: encoded}
	for range 3 {
		_, err := v.attempt(func(r *connect.Request[structpb.Struct]) (*connect.Response[structpb.Struct], error) {
			n := r.Msg.Fields["n"].GetNumberValue()
			r.Msg.Fields["n"] = structpb.NewNumberValue(n + 1)
			if r.Header().Get("Caller") != "alice" {
				t.Error("the header is lost")
			}
			return connect.NewResponse(r.Msg), nil
		})
		if err != nil || v.response.Msg.Fields["n"].GetNumberValue() != 2 {
			t.Fatalf("answered %v, %v", v.response, err)
		}
	}
}

func TestRecordThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{rpconce.KindMessage, rpconce.KindStatus} {
		v := &visit[structpb.Struct, structpb.Struct]{}
		answer, err := v.answer(onceward.Result{Replayed: true, Outcome: onceward.Outcome{Kind: kind, Data: []byte{0xff}}})
		if connect.CodeOf(err) != connect.CodeInternal {
			t.Errorf("%s: read %v, %v", kind, answer, err)
		}
	}
}
