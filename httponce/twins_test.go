package httponce

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

type twinsInput struct {
	Sku   string `json:"sku"`
	Lines []struct{ N int }
	More  map[string]any `json:"more"`
}

func TestTwins(t *testing.T) {
	t.Parallel()
	names := namesOf(reflect.TypeFor[twinsInput]())
	for body, want := range map[string]string{
		`{"sku":"a","SKU":"b"}`:                   "sku SKU",
		`{"sku":"a","lines":[{"n":1,"N":2}]}`:     "n N",
		`{"\u0073ku":"a" , "Sku" : "b"}`:          "sku Sku",
		`{"ſku":"a","sku":"b"}`:                   "ſku sku",
		`{"sku":"\"","sKu":"{["}`:                 "sku sKu",
		`{"sku":"SKU","lines":[{"n":1},{"N":2}]}`: "",
		`{"sku":"sku","more":{"a":1,"A":2}}`:      "", // a map's keys are data
		`{"more":["sku","SKU"]}`:                  "",
		`{"sku":"a","sku":"b"}`:                   "", // refused elsewhere
	} {
		one, other := twins([]byte(body), names)
		if got := strings.TrimSpace(one + " " + other); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// FuzzTwins: whatever JSON it is, the scan ends and stays within it, and what it finds encoding/json takes for one member.
func FuzzTwins(f *testing.F) {
	names := namesOf(reflect.TypeFor[twinsInput]())
	f.Add(`{"sku":"a","SKU":"b","more":{"\\":[{}]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		if !json.Valid([]byte(body)) {
			return
		}
		if one, other := twins([]byte(body), names); one != "" && (one == other || !strings.EqualFold(one, other)) {
			t.Errorf("%q and %q", one, other)
		}
	})
}
