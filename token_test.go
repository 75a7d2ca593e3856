package onceward_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/memstore"
)

func TestKeyOfIsAKeyOfItsPartsAlone(t *testing.T) {
	keys := map[string][]string{}
	for _, parts := range [][]string{
		{"a"},
		{"a", "b"},
		{"a/b"},
		{"a/", "b"},
		{"a", "/b"},
		{"a~", "b"},
		{"a", "~b"},
		{"a~/b"},
		{"a~./b"},
		{"a/.b"},
		{"a~.b"},
		{"a~~.b"},
		{"a", "b", ""},
		{"a", "", "b"},
		{"", "a", "b"},
		{"", ""},
		{""},
		{"~"},
		{"~~"},
		{"~", "~"},
		{"/"},
		{"."},
		{"~."},
		{".~"},
	} {
		key := onceward.KeyOf(parts...)
		if other, taken := keys[key]; taken {
			t.Errorf("%q is the key of %q and of %q", key, parts, other)
		}
		keys[key] = parts
	}
	if got := onceward.KeyOf("alipay", "M1", "P1001"); got != "alipay/M1/P1001" {
		t.Errorf("the key is %q", got)
	}
}

func TestIssueSaysWhatIsWrong(t *testing.T) {
	confirm := &onceward.Operation{Name: "confirm.v1", Submit: time.Minute}
	for name, c := range map[string]struct {
		operation *onceward.Operation
		scope     onceward.Scope
		subject   string
		want      error
	}{
		"an operation without tokens": {&onceward.Operation{Name: "create.v1"}, alice, "quote", onceward.ErrOperation},
		"an operation that is wrong":  {&onceward.Operation{Submit: time.Minute}, alice, "quote", onceward.ErrOperation},
		"nobody":                      {confirm, onceward.Scope{}, "quote", onceward.ErrScope},
		"a subject that is too long":  {confirm, alice, strings.Repeat("q", onceward.SubjectBytesMax+1), onceward.ErrMeaning},
		"a subject with a NUL":        {confirm, alice, "q\x00", onceward.ErrMeaning},
	} {
		engine := newEngine(t, memstore.New(func() *tx { return &tx{} }), onceward.Options{})
		if token, err := engine.Issue(t.Context(), &tx{}, c.operation, c.scope, c.subject); token != "" || !errors.Is(err, c.want) {
			t.Errorf("%s: got %q, %v; want %v", name, token, err, c.want)
		}
	}
}

// A command without a key has the one that its meaning makes; its id is the same wherever it is asked for.
func TestIdentifiedByItsMeaning(t *testing.T) {
	window := &onceward.Operation{Name: "export.v1", Window: time.Second}
	one, err := window.For(alice, "", map[string]any{"month": 12, "report": "orders"}).Identified()
	if err != nil {
		t.Fatal(err)
	}
	two, _ := window.For(alice, "", map[string]any{"report": "orders", "month": 12.0}).Identified()
	other, _ := window.For(alice, "", map[string]any{"report": "orders", "month": 11}).Identified()
	if one.Key == "" || one.Key != two.Key || one.Key == other.Key || one.ID() != two.ID() {
		t.Errorf("the keys are %q, %q and %q", one.Key, two.Key, other.Key)
	}
	if again, _ := one.Identified(); again.Key != one.Key {
		t.Errorf("identified again, the key is %q", again.Key)
	}
	if keyed, _ := window.For(alice, "k", nil).Identified(); keyed.Key != "k" {
		t.Errorf("the key is %q, want the caller's own", keyed.Key)
	}
	if _, err := window.For(alice, "", make(chan int)).Identified(); !errors.Is(err, onceward.ErrMeaning) {
		t.Errorf("a meaning without a form: %v", err)
	}
	engine := newEngine(t, memstore.New(func() *tx { return &tx{} }), onceward.Options{})
	_, err = engine.Do(t.Context(), window.For(alice, "", make(chan int)), never(t))
	if !errors.Is(err, onceward.ErrMeaning) {
		t.Errorf("Do: %v", err)
	}
	if _, err := engine.Do(t.Context(), (&onceward.Operation{Name: "o"}).For(alice, "", nil), nil); !errors.Is(err, onceward.ErrKey) {
		t.Errorf("without a window: %v", err)
	}
}
