package grpconce

import (
	"encoding/hex"
	"errors"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/rpconce"
)

func message(t *testing.T, members map[string]any) *structpb.Struct {
	t.Helper()
	m, err := structpb.NewStruct(members)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A store may run a work again: each attempt gets the message as it was sent.
func TestEachAttemptGetsAFreshMessage(t *testing.T) {
	t.Parallel()
	in := message(t, map[string]any{"n": 1})
	encoded, err := encoding.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	v := &visit[*structpb.Struct, *structpb.Struct]{in: in, encoded: encoded}
	spoils := func(in *structpb.Struct) (*structpb.Struct, error) {
		n := in.Fields["n"].GetNumberValue()
		in.Fields["n"] = structpb.NewNumberValue(n + 1)
		return in, nil
	}
	for range 3 {
		if _, err := v.attempt(spoils); err != nil || v.out.Fields["n"].GetNumberValue() != 2 {
			t.Fatalf("answered %v, %v", v.out, err)
		}
	}
	if _, err := v.attempt(func(*structpb.Struct) (*structpb.Struct, error) { return nil, Conclude(errors.New("no")) }); err != nil || v.err == nil {
		t.Errorf("a final error is not recorded: %v", err)
	}
	if _, err := v.attempt(spoils); err != nil || v.err != nil {
		t.Errorf("the error of an earlier attempt stays: %v", v.err)
	}
}

// What is compared and recorded of a message must outlive a deploy: this is what the records of earlier ones hold.
func TestEncodingIsTheOneOfEarlierRecords(t *testing.T) {
	t.Parallel()
	m := message(t, map[string]any{"sku": "BOOK", "quantity": 2, "list": []any{true, nil, "ü"}, "a": map[string]any{"z": 1, "b": 2}})
	m.ProtoReflect().SetUnknown(protoUnknown)
	const want = "0a270a016112222a200a0e0a016212091100000000000000400a0e0a017a120911000000000000f03f" + // a: b: 2, z: 1
		"0a180a046c6973741210320e0a0220010a0208000a041a02c3bc" + // list
		"0a150a087175616e74697479120911000000000000" + "0040" + "0a0d0a03736b7512061a04424f4f4b" + // quantity, sku
		"782a" // what the type does not know
	for range 20 {
		got, err := encoding.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if hex.EncodeToString(got) != want {
			t.Fatalf("encoded %x", got)
		}
	}
}

var protoUnknown = []byte{0x78, 0x2a} // field 15, a varint

func TestRecordThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{rpconce.KindMessage, rpconce.KindStatus} {
		v := &visit[*structpb.Struct, *structpb.Struct]{}
		answer, err := v.answer(onceward.Result{Replayed: true, Outcome: onceward.Outcome{Kind: kind, Data: []byte{0xff}}})
		if err == nil {
			t.Errorf("%s: read %v", kind, answer)
		}
	}
}
