package httponce

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/memstore"
)

type noTx struct{}

func newDoor(t *testing.T, o Options) *Door[noTx] {
	t.Helper()
	engine, err := onceward.New(memstore.New(func() noTx { return noTx{} }), onceward.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Scope = func(*http.Request) (onceward.Scope, error) {
		return onceward.Scope{Tenant: "acme", Principal: "alice"}, nil
	}
	door, err := New(engine, o)
	if err != nil {
		t.Fatal(err)
	}
	return door
}

// A store may run a work again, for example after a deadlock.
func TestEachAttemptSeesAFreshRequestAndAnswer(t *testing.T) {
	t.Parallel()
	op := &onceward.Operation{Name: "create.v1"}
	attempts := 0
	raw := func(w http.ResponseWriter, r *http.Request, _ noTx) error {
		attempts++
		form, err := io.ReadAll(r.Body)
		w.Header().Add("Etag", fmt.Sprint(attempts))
		fmt.Fprintf(w, "attempt %d read %s", attempts, form)
		return err
	}
	typed := func(_ context.Context, _ noTx, in map[string][]int) (*Answer, error) {
		attempts++
		in["n"][0]++
		in["n"] = append(in["n"], attempts)
		return OK(in), nil
	}
	door := newDoor(t, Options{})
	for name, c := range map[string]struct {
		handler http.Handler
		body    string
	}{
		"handle": {door.Handle(op, raw), `attempt 2 read {"n":[1]}`},
		"json":   {JSON(door, op, typed), "{\"n\":[2,2]}\n"},
	} {
		attempts = 0
		r := httptest.NewRequest("POST", "/", strings.NewReader(`{"n":[1]}`))
		r.Header.Set(HeaderKey, name)
		route := c.handler.(*route[noTx])
		v := enter(op, httptest.NewRecorder(), r)
		if err := door.options.identify(v); err != nil {
			t.Fatal(err)
		}
		v.decode = route.decode
		if _, err := v.Canonical(v.Current()); err != nil && name == "json" {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := route.attempt(t.Context(), noTx{}, v); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(v.answer.body); got != c.body {
			t.Errorf("%s: %q, want %q", name, got, c.body)
		}
	}
}

// Only a visit that no work has seen is used again.
func TestVisitOfAWorkIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	op := &onceward.Operation{Name: "create.v1"}
	r := httptest.NewRequest("POST", "/", strings.NewReader("abc"))
	for _, ran := range []bool{false, true} {
		v := enter(op, httptest.NewRecorder(), r)
		v.room, v.Body, v.ran = []byte("abc"), []byte("abc"), ran
		v.leave()
		if left := v.Body == nil && v.in == nil; left == ran {
			t.Errorf("ran %v: left %v", ran, left)
		}
	}
}

func TestPathValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		values        map[string]string
		want          string
	}{
		{"", "/a/b", nil, "[ /a/b]"},
		{"POST /orders", "/orders", nil, "[]"},
		{"POST /orders/{$}", "/orders/", nil, "[]"},
		{"POST /orders/", "/orders/x", nil, "[ /orders/x]"},
		{"POST example.com/orders/{id}/lines/{line}", "/orders/1/lines/2", map[string]string{"id": "1", "line": "2"}, "[id 1 line 2]"},
		{"/files/{path...}", "/files/", nil, "[path ]"},
		{"/files/{path...}", "/files/a/b", map[string]string{"path": "a/b"}, "[path a/b]"},
		// Patterns of other routers, whose values this package cannot know for certain.
		{"/orders/{id:[0-9]+}", "/orders/1", nil, "[ /orders/1]"},
		{"/orders/:id", "/orders/1", nil, "[ /orders/1]"},
		{"/files/*", "/files/a", nil, "[ /files/a]"},
		{"/orders/{id}", "/orders/1", nil, "[ /orders/1]"},
		{"/orders/{id", "/orders/1", nil, "[ /orders/1]"},
	} {
		r := httptest.NewRequest("POST", c.path+"?a=/b", nil)
		r.Pattern = c.pattern
		for name, value := range c.values {
			r.SetPathValue(name, value)
		}
		if got := fmt.Sprint(pathValues(r)); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.pattern, c.path, got, c.want)
		}
	}
}
