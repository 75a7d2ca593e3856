package httponce

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile("testdata/"+name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is written today (go test -update writes it anew):\n%s", name, got)
	}
}

// wire writes an answer as the golden files have it.
func wire(status int, header http.Header, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", status)
	for _, name := range slices.Sorted(mapKeys(header)) {
		for _, value := range header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	return b.String() + "\n" + body + "\n"
}

func mapKeys(h http.Header) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range h {
			if !yield(name) {
				return
			}
		}
	}
}

// Each error has its answer on the wire.
func TestProblemsOnTheWire(t *testing.T) {
	t.Parallel()
	waits := &onceward.Operation{Name: "create.v1", Wait: time.Second}
	door := newDoor(t, Options{Report: func(*http.Request, error) {}})
	var all strings.Builder
	for _, err := range []error{
		keyMissing.answer(""), keyRepeated.answer(""), keyMalformed.answer(""), keyTooLong.answer(""), unauthenticated.answer(""),
		forbiddenCaller.answer(""), methodNotAllowed.answer(""), tooLarge(1 << 20), bodyIncomplete.answer(""), bodyCoding.answer(""),
		bodyInvalid.answer(""), notStored.answer(""),
		fmt.Errorf("%w: %w", onceward.ErrMeaning, &fingerprint.Error{Part: "json", Fault: "duplicate member", Offset: 7}),
		onceward.ErrKeyReused, onceward.ErrInFlight, onceward.ErrExpired, onceward.ErrCommitUnresolved, onceward.ErrNotCommitted,
		onceward.ErrUnavailable, errNewer, onceward.ErrScope, onceward.ErrKey, onceward.ErrAborted, onceward.ErrOutcomeTooLarge,
		errAnswerTooLarge, t.Context().Err(), errDamaged,
	} {
		if err == nil {
			continue
		}
		w := httptest.NewRecorder()
		v := enter(waits, w, httptest.NewRequest("POST", "/", nil))
		door.refuse(v, &onceward.Error{Operation: waits.Name, ID: "0123456789abcdef", Err: err})
		all.WriteString(wire(w.Code, w.Header(), w.Body.String()))
	}
	golden(t, "problems.txt", all.String())
}

func TestContractOnTheWire(t *testing.T) {
	t.Parallel()
	plain := newDoor(t, Options{})
	own := newDoor(t, Options{
		Statuses: Statuses{Reused: 409, InFlight: 409, InFlightAfterWait: 409, ReusedCode: "40902", InFlightCode: "40901"},
		Strict:   true, Optional: true, KeyBytesMax: 128, BodyBytesMax: 1000, StoredBytesMax: 2000, Headers: []string{"x-rate"},
	})
	handler := Contract(plain, own)
	orders := &onceward.Operation{Name: "create-order.v1", Wait: time.Second}
	nothing := func(http.ResponseWriter, *http.Request, noTx) error { return nil }
	plain.Handle(orders, nothing)
	plain.Handle(orders, nothing) // on another path
	own.Handle(&onceward.Operation{Name: "ship.v1", Per: onceward.Tenant, Retention: 90 * time.Minute, RefuseExpired: time.Hour}, nothing)
	plain.Handle(&onceward.Operation{Name: "export.v1", Window: time.Second}, nothing)
	JSONBy(plain, &onceward.Operation{Name: "confirm.v1", Submit: time.Minute}, func(*http.Request, struct{}) (string, error) { return "", nil },
		func(context.Context, noTx, struct{}) (*Answer, error) { return nil, nil })
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("GET", ContractPath, nil))
	golden(t, "contract.json", w.Body.String())
	for method, want := range map[string]int{"HEAD": 200, "OPTIONS": 204, "POST": 405} {
		w := httptest.NewRecorder()
		if handler.ServeHTTP(w, httptest.NewRequest(method, ContractPath, nil)); w.Code != want {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}
