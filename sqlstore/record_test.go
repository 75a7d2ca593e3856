package sqlstore

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// columnsRow gives its values as a driver does.
type columnsRow []any

func (r columnsRow) Scan(into ...any) error {
	if len(into) != len(r) {
		return fmt.Errorf("%d values for %d places", len(r), len(into))
	}
	return row(make([]string, len(r)), r, nil).Scan(into...)
}

func record(t *testing.T) *onceward.Record {
	t.Helper()
	f, err := fingerprint.Of(fingerprint.Bytes([]byte("meaning")))
	if err != nil {
		t.Fatal(err)
	}
	return &onceward.Record{
		ID: onceward.ID{1, 2}, Operation: "place.v1", Scope: onceward.Scope{Tenant: "acme", Principal: "alice"}, Key: "k",
		Fingerprint: f, State: onceward.StateCompleted, Outcome: onceward.Outcome{Kind: "json", Data: []byte("1")}, Attempt: onceward.Token{3},
		Life: time.Second, Keep: time.Minute, CreatedAt: time.UnixMicro(5).UTC(), ExpiresAt: time.UnixMicro(6).UTC(),
	}
}

func TestScanReadsWhatValuesGave(t *testing.T) {
	t.Parallel()
	want := record(t)
	values := Values(want)
	if len(values) != len(strings.Split(Columns, ",")) {
		t.Fatalf("%d values for the columns %s", len(values), Columns)
	}
	got, err := Scan(columnsRow(append(values, int64(1e6), int64(60e6), int64(5), int64(6))))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("scanned %+v\nwant %+v", got, want)
	}
}

func TestScanRefusesDigestsOfAnotherLength(t *testing.T) {
	t.Parallel()
	for _, i := range []int{0, 6, 7, 9} {
		values := Values(record(t))
		values[i] = values[i].([]byte)[1:]
		if _, err := Scan(columnsRow(append(values, int64(0), int64(0), int64(0), int64(0)))); err == nil {
			t.Errorf("column %d was taken with a byte missing", i)
		}
	}
}

// TestValuesOfNothing: an outcome without data is stored as no bytes, not as NULL.
func TestValuesOfNothing(t *testing.T) {
	t.Parallel()
	empty := record(t)
	empty.Outcome.Data = nil
	if data, ok := Values(empty)[11].([]byte); !ok || data == nil {
		t.Errorf("the value is %#v", Values(empty)[11])
	}
}
