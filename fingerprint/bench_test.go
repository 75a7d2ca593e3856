package fingerprint

import (
	"fmt"
	"strings"
	"testing"
)

// benchBody is about 1 KiB of JSON as a shop sends it: members out of order,
// some nesting, escapes, and numbers of several kinds.
func benchBody() []byte {
	var b strings.Builder
	b.WriteString(`{"reference":"PO-2024-000117","customer":{"name":"Zo\u00eb M\u00fcller","email":"zoe@example.com","address":{"street":"Hauptstraße 5","city":"Zürich","zip":"8001"}},"currency":"CHF","lines":[`)
	for i := range 6 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"sku":"SKU-%05d","quantity":%d,"price":%d.50,"tax":0.077,"note":"line \"%d\"\n","gift":false,"meta":null}`, i*731, i+1, 10*i+9, i)
	}
	b.WriteString(`],"total":1234.50,"ok":true}`)
	return []byte(b.String())
}

func BenchmarkRaw1KiB(b *testing.B) {
	body := benchBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		JSON(body).Raw()
	}
}

func BenchmarkCanonical1KiB(b *testing.B) {
	body := benchBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := JSON(body).Canonical(versionOf(0)); err != nil {
			b.Fatal(err)
		}
	}
}

func benchRequest(body []byte, rules []Rule) *Request {
	return &Request{
		Method: "POST", Operation: "create-order.v1", PathValues: []string{"shop", "7"}, RawQuery: "dry=0",
		ContentType: "application/json", Body: body, Rules: rules,
	}
}

func BenchmarkRequestRaw1KiB(b *testing.B) {
	body := benchBody()
	b.ReportAllocs()
	for b.Loop() {
		benchRequest(body, nil).Raw()
	}
}

func BenchmarkRequestOf1KiB(b *testing.B) {
	body := benchBody()
	for _, bb := range []struct {
		name  string
		rules []Rule
	}{{"plain", nil}, {"ignore", []Rule{{Ignore: []string{"/reference", "/lines/0/note"}}}}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Of(benchRequest(body, bb.rules)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
