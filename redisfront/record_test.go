package redisfront

import (
	"reflect"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

func someRecord() *onceward.Record {
	return &onceward.Record{
		ID: onceward.ID{1, 2}, Operation: "create-order.v1", Scope: onceward.Scope{Tenant: "acme", Principal: "älice"}, Key: "k",
		Fingerprint: fingerprint.Fingerprint{Version: 1 << 16, Raw: fingerprint.Digest{3}, Canonical: fingerprint.Digest{4}},
		State:       onceward.StateCompleted, Outcome: onceward.Outcome{Kind: "http", Data: []byte("a\x00b")}, Attempt: onceward.Token{5},
		CreatedAt: time.UnixMicro(1e15), ExpiresAt: time.UnixMicro(2e15),
	}
}

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	want := someRecord()
	b, err := encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(want.ID, string(b))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	want := someRecord()
	holder, err := holderOf(lockValue(want))
	if err != nil || holder.Version != want.Fingerprint.Version || holder.Canonical != want.Fingerprint.Canonical {
		t.Errorf("%+v, %v", holder, err)
	}
	for _, value := range []string{"", ":", "1:2", "x.00:1", "1.zz:1", "1." + string(make([]byte, 64)) + ":1"} {
		if _, err := holderOf(value); err == nil {
			t.Errorf("%q names a holder", value)
		}
	}
}

// FuzzRecord: whatever is in Redis, reading it neither panics nor takes room for what is not there.
func FuzzRecord(f *testing.F) {
	b, _ := encode(someRecord())
	for i := range b {
		f.Add(string(b[:i]))
	}
	f.Add(string(b))
	f.Fuzz(func(t *testing.T, text string) {
		record, err := decode(onceward.ID{}, text)
		if (record == nil) != (err != nil) {
			t.Errorf("%v, %v", record, err)
		}
	})
}
