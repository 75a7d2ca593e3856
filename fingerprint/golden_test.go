package fingerprint

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.json")

type goldenDigests struct {
	Version   string `json:"version"`
	Raw       string `json:"raw"`
	Canonical string `json:"canonical"`
}

func goldenMeanings(t *testing.T) map[string]Meaning {
	value := mustValue(t, map[string]any{"sku": "A-1", "n": 3})
	rules := []Rule{{Version: 3, Ignore: []string{"/sentAt", "/lines/0/note"}, Headers: []string{"X-Tenant", "Prefer"}}, {Version: 1}}
	fields := header(map[string][]string{"x-tenant": {"t1"}, "prefer": {"a", "b"}})
	body := []byte(`{"sentAt":1,"lines":[{"note":"x","sku":"\u00e9\n"}],"total":12.50,"ok":true,"none":null}`)
	files := multipartRequest(t, "golden", field(`form-data; name="a"; filename="f"`, "text/plain; charset=UTF-8", "x"), field(`form-data; name="b"`, "", ""))
	return map[string]Meaning{
		"empty":          mustValue(t, nil),
		"bytes":          Bytes([]byte("abc")),
		"bytes of none":  Bytes(nil),
		"json":           JSON([]byte(`{"b":[1.0,-0,1e400,"\u0061\ud83d\ude00\u0001"],"a":{"z":null,"y":false}}`)),
		"value":          value,
		"request":        &Request{Method: "POST", Operation: "create-order.v1", PathValues: []string{"id", "7"}, RawQuery: "b=2&a=1", ContentType: jsonType, Body: body},
		"request, rule":  &Request{Method: "POST", Operation: "create-order.v1", Header: fields, ContentType: jsonType, Body: body, Rules: rules},
		"request, none":  &Request{Method: "DELETE", Operation: "cancel-order.v1", ContentType: jsonType},
		"request, form":  &Request{Method: "POST", ContentType: formType, Body: []byte("b=x+y&a=1&b=%31")},
		"request, parts": files,
		"request, bytes": &Request{Method: "PUT", ContentType: "Text/CSV; header=present; charset=UTF-8", Body: []byte("a,b\n")},
		"request, odd":   &Request{Method: "PUT", ContentType: "no type", Body: []byte("a,b\n")},
	}
}

// Digests are stored for as long as records are kept. If this fails, the change
// makes every retry of an old record a reused key: give [Encoding] a new number
// and keep the old way beside the new one, or undo the change.
func TestGolden(t *testing.T) {
	t.Parallel()
	got := map[string]goldenDigests{}
	for name, m := range goldenMeanings(t) {
		f, err := Of(m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got[name] = goldenDigests{fmt.Sprintf("%#x", f.Version), fmt.Sprintf("%x", f.Raw), fmt.Sprintf("%x", f.Canonical)}
	}
	if *update {
		b, err := json.MarshalIndent(got, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("testdata/golden.json", append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]goldenDigests
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d meanings, %d in the file", len(got), len(want))
	}
	for name := range got {
		if got[name] != want[name] {
			t.Errorf("%s\n got %+v\nwant %+v", name, got[name], want[name])
		}
	}
}

// The golden file could have been made by a broken encoder; these preimages are
// written by hand.
func TestPreimage(t *testing.T) {
	t.Parallel()
	const n = "\x00\x00\x00\x00\x00\x00\x00"
	const head = "onceward\x00\x01"
	large := strings.Repeat("x", 0x201)
	for _, tt := range []struct {
		m              Meaning
		raw, canonical string
	}{
		{Bytes([]byte("abc")), n + "\x05bytes" + n + "\x03abc", n + "\x05bytes" + n + "\x03abc"},
		{Bytes([]byte(large)), n + "\x05bytes" + n[1:] + "\x02\x01" + large, n + "\x05bytes" + n[1:] + "\x02\x01" + large},
		{JSON([]byte(`[1.0]`)), n + "\x08json raw" + n + "\x05[1.0]", n + "\x04json" + n + "\x03[1]"},
		{
			&Request{
				Method: "PUT", Operation: "op", PathValues: []string{"id", "7"}, RawQuery: "q=%31", ContentType: "application/json",
				Body: []byte("1.0"), Rules: []Rule{{Headers: []string{"A"}}}, Header: header(map[string][]string{"a": {"x"}}),
			},
			n + "\x0brequest raw" + n + "\x03PUT" + n + "\x02op" + n + "\x02" + n + "\x02id" + n + "\x017" + n + "\x05q=%31" +
				n + "\x01" + n + "\x01a" + n + "\x01" + n + "\x01x" + n + "\x10application/json" + n + "\x031.0",
			n + "\x07request" + n + "\x03PUT" + n + "\x02op" + n + "\x02" + n + "\x02id" + n + "\x017" + n + "\x01" + n + "\x01q" + n + "\x011" +
				n + "\x01" + n + "\x01a" + n + "\x01" + n + "\x01x" + n + "\x04json" + n + "\x10application/json" + n + "\x011",
		},
	} {
		if got := tt.m.Raw(); got != sha256.Sum256([]byte(head+tt.raw)) {
			t.Errorf("raw digest of %+v", tt.m)
		}
		if got := canonical(t, tt.m); got != sha256.Sum256([]byte(head+tt.canonical)) {
			t.Errorf("canonical digest of %+v", tt.m)
		}
	}
}
