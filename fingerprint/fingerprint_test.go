package fingerprint

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
)

// canonical returns m's current canonical digest, which must exist.
func canonical(t testing.TB, m Meaning) Digest {
	t.Helper()
	f, err := Of(m)
	if err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	return f.Canonical
}

// allDiffer fails if two of the meanings share a canonical or a raw digest.
func allDiffer(t *testing.T, meanings []Meaning) {
	t.Helper()
	canonicals, raws := map[Digest]int{}, map[Digest]int{}
	for i, m := range meanings {
		if other, ok := canonicals[canonical(t, m)]; ok {
			t.Errorf("%d and %d have one canonical digest:\n%+v\n%+v", other, i, meanings[other], m)
		}
		if other, ok := raws[m.Raw()]; ok {
			t.Errorf("%d and %d have one raw digest:\n%+v\n%+v", other, i, meanings[other], m)
		}
		canonicals[canonical(t, m)], raws[m.Raw()] = i, i
	}
}

func mustValue(t testing.TB, v any) Meaning {
	t.Helper()
	m, err := Value(v)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestValue(t *testing.T) {
	t.Parallel()
	type order struct {
		SKU string `json:"sku"`
		N   int    `json:"n"`
	}
	type name string
	asJSON := canonical(t, JSON([]byte(`{"n":3,"sku":"<a>"}`)))
	for _, v := range []any{
		order{"<a>", 3},
		&order{"<a>", 3},
		map[string]any{"sku": "<a>", "n": 3},
		json.RawMessage(`{"n": 3.0, "sku": "<a>"}`),
		JSON([]byte(`{"sku":"<a>","n":3}`)),
	} {
		if canonical(t, mustValue(t, v)) != asJSON {
			t.Errorf("%T is not its JSON", v)
		}
	}
	if canonical(t, mustValue(t, "abc")) != canonical(t, mustValue(t, []byte("abc"))) {
		t.Error("a string is not its bytes")
	}
	if canonical(t, mustValue(t, name("abc"))) != canonical(t, JSON([]byte(`"abc"`))) {
		t.Error("a named string type is not its JSON")
	}
	allDiffer(t, []Meaning{
		mustValue(t, nil), mustValue(t, (*order)(nil)), mustValue(t, ""), mustValue(t, "null"), mustValue(t, name("")),
		mustValue(t, name("null")), mustValue(t, struct{}{}), mustValue(t, "{}"), mustValue(t, []int{}), mustValue(t, 0),
		mustValue(t, uint64(1<<63)), mustValue(t, uint64(1<<63+1)),
	})
	if _, err := Value(make(chan int)); err == nil {
		t.Error("a channel has a meaning")
	}
	if _, err := Of(mustValue(t, json.RawMessage(nil))); !errors.Is(err, ErrMalformed) {
		t.Errorf("an empty JSON text: %v", err)
	}
}

func TestF14_SameByCanonicalFormAfterAnotherSpelling(t *testing.T) {
	t.Parallel()
	stored, err := Of(JSON([]byte(`{"a":1,"b":2}`)))
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]bool{
		`{"a":1,"b":2}`:          true,
		"{\"b\":2.0, \"a\":1}\n": true,
		`{"a":1,"b":3}`:          false,
		`{"a":1}`:                false,
	} {
		if same, err := stored.Same(JSON([]byte(in))); err != nil || same != want {
			t.Errorf("%s: %v, %v", in, same, err)
		}
	}
	if same, err := stored.Same(JSON([]byte(`{`))); same || !errors.Is(err, ErrMalformed) {
		t.Errorf("malformed: %v, %v", same, err)
	}
}

func TestIdenticalRetryNeedsNoCanonicalForm(t *testing.T) {
	t.Parallel()
	stored, err := Of(&Request{ContentType: "application/json", Body: []byte(`{"a":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	retry := &Request{ContentType: "application/json", Body: []byte(`{"a":1}`)}
	if same, err := stored.Same(retry); err != nil || !same {
		t.Fatal(same, err)
	}
	if n := len(retry.memo.results); n != 0 {
		t.Errorf("%d canonical forms were computed", n)
	}
}

func TestF18_UnknownVersion(t *testing.T) {
	t.Parallel()
	for _, m := range []Meaning{mustValue(t, nil), Bytes(nil), JSON([]byte(`1`)), &Request{}, &Request{Rules: []Rule{{Version: 2}, {Version: 1}}}} {
		for _, v := range []Version{0, 3, versionOf(3), (Encoding + 1) << 16, (Encoding+1)<<16 | 1} {
			if _, err := m.Canonical(v); !errors.Is(err, ErrVersion) {
				t.Errorf("%T under %#x: %v", m, v, err)
			}
		}
		f := Fingerprint{Version: versionOf(9), Raw: m.Raw()}
		if same, err := f.Same(m); same || !errors.Is(err, ErrVersion) {
			t.Errorf("%T: a raw digest was believed under an unknown version: %v, %v", m, same, err)
		}
	}
	if same, err := (Fingerprint{}).Same(Bytes(nil)); same || !errors.Is(err, ErrVersion) {
		t.Errorf("the zero fingerprint: %v, %v", same, err)
	}
}

func TestCanonicalIsComputedOncePerVersion(t *testing.T) {
	t.Parallel()
	calls := 0
	r := &Request{
		Rules:  []Rule{{Version: 2, Headers: []string{"A"}}, {Version: 1, Headers: []string{"B"}}},
		Header: func(string) []string { calls++; return nil },
	}
	for range 3 {
		for _, v := range []Version{versionOf(1), versionOf(2)} {
			if _, err := r.Canonical(v); err != nil {
				t.Fatal(err)
			}
		}
		r.Raw()
	}
	if calls != 3 { // two versions and the raw digest
		t.Errorf("headers were read %d times", calls)
	}
	bad := JSON([]byte(`{`)).(*document)
	_, first := bad.Canonical(bad.Current())
	_, second := bad.Canonical(bad.Current())
	if first == nil || first != second {
		t.Errorf("a failure is computed again: %v, %v", first, second)
	}
}

func TestMeaningsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	body := []byte(`{"b":1,"a":"` + strings.Repeat("x", 4096) + `"}`)
	for _, m := range []Meaning{Bytes(body), JSON(body), &Request{Body: body, ContentType: "application/json"}} {
		var wg sync.WaitGroup
		results := make([]Fingerprint, 8)
		for i := range results {
			wg.Go(func() { results[i], _ = Of(m) })
		}
		wg.Wait()
		for _, f := range results {
			if f != results[0] || f.Canonical == (Digest{}) {
				t.Fatalf("%T: digests differ between goroutines", m)
			}
		}
	}
}
