package fingerprint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// canonicalText returns the canonical form itself.
func canonicalText(in string, ignore ...string) (string, error) {
	tree, err := compile(ignore)
	if err != nil {
		return "", err
	}
	c := canonicalizer{in: []byte(in)}
	err = c.document(tree)
	return string(c.out), err
}

func TestCanonicalText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"white space", " { \"b\" : [ ] ,\r\n\t\"a\" : { } } ", `{"a":{},"b":[]}`},
		{"final newline", "[1,true,false,null,\"x\"]\n", `[1,true,false,null,"x"]`},
		{"nested", `{"b":{"d":1,"c":{"f":2,"e":3}},"a":[{"h":4,"g":5}]}`, `{"a":[{"g":5,"h":4}],"b":{"c":{"e":3,"f":2},"d":1}}`},
		{"prefix first", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		{"escapes", `"\u0061\/\"\\\b\f\n\r\t\u0001\u000A\u007f"`, `"a/\"\\\b\f\n\r\t\u0001\n` + "\x7f" + `"`},
		{"upper and lower hex", `"\u001F\u00E9\u00e9"`, `"\u001féé"`},
		{"pair of surrogates", `"\ud83d\ude00\uD83D\uDE00"`, `"😀😀"`},
		{"replacement character", `"` + "\ufffd" + `\ufffd"`, `"` + "\ufffd\ufffd" + `"`},
		{"code points, not UTF-16 units", `{"😀":1,"\ufb33":2}`, `{"` + "\ufb33" + `":2,"😀":1}`},
		{"an escape sorts as what it means", `{"\"":1,"!":2,"#":3,"\\":4,"[":5,"]":6,"\u0001":7}`, `{"\u0001":7,"!":2,"\"":1,"#":3,"[":5,"\\":4,"]":6}`},
		{"long names, one the start of the other", `{"reference2":1,"reference":2,"referenc":3,"reference\u0000":4}`, `{"referenc":3,"reference":2,"reference\u0000":4,"reference2":1}`},
		{"zero is a character", `{"a\u0000":1,"a":2}`, `{"a":2,"a\u0000":1}`},
		{"an escape within names", `{"a\nb":1,"a":2,"a\n":3,"a\u0001":4}`, `{"a":2,"a\u0001":4,"a\n":3,"a\nb":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := canonicalText(tt.in)
			if err != nil || got != tt.want {
				t.Errorf("%s\n got %s, %v\nwant %s", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestF14_JSONSpelledDifferentlyIsTheSame(t *testing.T) {
	t.Parallel()
	same := []string{
		`{"amount":1250,"lines":["a","b"],"note":"caf\u00e9"}`,
		`{"note":"café","lines":["a","b"],"amount":1250}`,
		" {\"amount\" : 1250,\n\t\"lines\": [ \"\\u0061\", \"b\" ],\r\n \"n\\u006Fte\": \"caf\\u00E9\"}\n",
	}
	want := canonical(t, JSON([]byte(same[0])))
	for _, in := range same[1:] {
		if canonical(t, JSON([]byte(in))) != want {
			t.Errorf("differs from %s:\n%s", same[0], in)
		}
	}
	allDiffer(t, []Meaning{
		JSON([]byte(same[0])),
		JSON([]byte(`{"amount":1250,"lines":["b","a"],"note":"café"}`)), // the order of an array counts
		JSON([]byte(`{"amount":1250,"lines":["a","b"],"Note":"café"}`)),
		JSON([]byte(`{"amount":"1250","lines":["a","b"],"note":"café"}`)),
		Bytes([]byte(same[0])),
	})
}

func TestF15_NullAbsentEmptyAndTextForms(t *testing.T) {
	t.Parallel()
	var all []Meaning
	for _, in := range []string{
		`{}`, `{"a":null}`, `{"a":""}`, `{"a":0}`, `{"a":false}`, `{"a":[]}`, `{"a":{}}`, `{"a":[null]}`, `{"":null}`,
		`null`, `[]`, `""`, `0`, `false`,
		`{"a":"` + "\u00e9" + `"}`, `{"a":"` + "e\u0301" + `"}`, // composed, decomposed
		`{"a":"` + "\u212b" + `"}`, `{"a":"` + "\u00c5" + `"}`, // Ångström sign, letter
		`["ab"]`, `["a","b"]`, `["a",["b"]]`, `[["a"],"b"]`, `["a,b"]`,
	} {
		all = append(all, JSON([]byte(in)))
	}
	allDiffer(t, all)
	if canonical(t, JSON([]byte(`"\u0065\u0301"`))) != canonical(t, JSON([]byte(`"`+"e\u0301"+`"`))) {
		t.Error("unescaping changes the code points")
	}
}

func TestMalformedJSON(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", DepthMax+1)
	for _, tt := range []struct {
		in, fault string
		offset    int
	}{
		{``, "empty text", 0},
		{" \n", "empty text", 2},
		{"\ufeff{}", "unexpected character", 0},
		{`{`, "unexpected end", 1},
		{`{"a`, "unexpected end", 3},
		{`{"a"`, "unexpected end", 4},
		{`{"a":`, "unexpected end", 5},
		{`{"a":1`, "unexpected end", 6},
		{`[`, "unexpected end", 1},
		{`[1`, "unexpected end", 2},
		{`[1,]`, "unexpected character", 3},
		{`[,1]`, "unexpected character", 1},
		{`[1 2]`, "unexpected character", 3},
		{`{"a":1,}`, "unexpected character", 7},
		{`{a:1}`, "unexpected character", 1},
		{`{"a" 1}`, "unexpected character", 5},
		{`{"a":1]`, "unexpected character", 6},
		{`1 1`, "data after the text", 2},
		{`{}}`, "data after the text", 2},
		{"1\x00", "data after the text", 1},
		{"\x00", "unexpected character", 0},
		{`'a'`, "unexpected character", 0},
		{`tru`, "not a JSON value", 0},
		{`True`, "unexpected character", 0},
		{`nulL`, "not a JSON value", 0},
		{`{"a":1,"b":2,"a":3}`, "duplicate member", 13},
		{`{"a":1,"\u0061":1}`, "duplicate member", 7},
		{`[{"x":{"\n":1,"\u000a":2}}]`, "duplicate member", 14},
		{"\"a\xffb\"", "invalid UTF-8", 2},
		{"\"\xc0\xaf\"", "invalid UTF-8", 1},     // overlong
		{"\"\xed\xa0\x80\"", "invalid UTF-8", 1}, // a surrogate in UTF-8
		{"{\"\xe2\x82\":1}", "invalid UTF-8", 2}, // cut short
		{`"\ud800"`, "lone surrogate", 1},
		{`"a\udc00"`, "lone surrogate", 2},
		{`"\ud800\ud800"`, "lone surrogate", 1},
		{`"\ud800\u0061"`, "lone surrogate", 1},
		{`"\ud800\n"`, "lone surrogate", 1},
		{`"\udc00\ud800"`, "lone surrogate", 1},
		{`"\ud800\u00"`, "lone surrogate", 1},
		{`"\x41"`, "unknown escape", 1},
		{`"\u00g0"`, "unknown escape", 1},
		{`"\u00`, "unknown escape", 1},
		{`"\`, "unknown escape", 1},
		{"\"a\nb\"", "control character in a string", 2},
		{"\"\x00\"", "control character in a string", 1},
		{deep, "nested too deeply", DepthMax},
		{strings.Repeat(`{"a":`, DepthMax+1), "nested too deeply", DepthMax * 5},
	} {
		_, err := JSON([]byte(tt.in)).Canonical(versionOf(0))
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", tt.in, err)
			continue
		}
		if want := (Error{"json", tt.fault, tt.offset}); *e != want {
			t.Errorf("%q:\n got %+v\nwant %+v", tt.in, *e, want)
		}
	}
}

// Many members are sorted in another way than few.
func TestManyMembers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{insertMembersMax - 1, insertMembersMax, insertMembersMax + 1, 40 * insertMembersMax} {
		ascending, descending := make([]string, n), make([]string, n)
		for i := range n {
			member := fmt.Sprintf(`"a common prefix %04d":%d`, i, i*10+1)
			ascending[i], descending[n-1-i] = member, member
		}
		want := "{" + strings.Join(ascending, ",") + "}"
		if got, err := canonicalText("{" + strings.Join(descending, ",") + "}"); err != nil || got != want {
			t.Errorf("%d members:\n got %s, %v\nwant %s", n, got, err, want)
		}
		twice := "{" + strings.Join(descending, ",") + "," + descending[0] + "}"
		_, err := canonicalText(twice)
		var e *Error
		if !errors.As(err, &e) || e.Fault != "duplicate member" || e.Offset != strings.LastIndex(twice, `"a common`) {
			t.Errorf("%d members and one again: %v", n, err)
		}
	}
}

func TestDepthMaxItselfIsAllowed(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		strings.Repeat("[", DepthMax) + strings.Repeat("]", DepthMax),
		"[" + strings.Repeat("[],", 3*DepthMax) + "{}]", // depth, not number
		"[" + strings.Repeat(`{"a":1},`, 3*DepthMax) + "{}]",
	} {
		if _, err := canonicalText(in); err != nil {
			t.Errorf("%.20s…: %v", in, err)
		}
	}
}

func TestErrorsRepeatNothingOfTheInput(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for _, m := range []Meaning{
		JSON([]byte(`{"s3cret":1,"s3cret":2}`)),
		JSON([]byte(`s3cret`)),
		&Request{RawQuery: "s3cret=%s3cret"},
		&Request{ContentType: "application/x-www-form-urlencoded", Body: []byte("s3cret=%s3cret")},
		&Request{ContentType: "multipart/form-data; boundary=b", Body: []byte("--b\r\ns3cret\r\n\r\n")},
		&Request{ContentType: "multipart/form-data; s3cret", Body: []byte("s3cret")},
	} {
		_, err := m.Canonical(m.Current())
		if !errors.Is(err, ErrMalformed) || strings.Contains(err.Error(), secret) {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// A value far beyond what is kept between calls must not disturb the next one.
func TestLargeTexts(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString(`{"z":"` + strings.Repeat("x", 2*keepBytesMax) + `"`)
	for i := range 2 * keepMembersMax {
		name, _ := json.Marshal(i * 7919 % 100_003)
		b.WriteString(`,"` + string(name) + `":0`)
	}
	b.WriteString("}")
	first := canonical(t, JSON(b.Bytes()))
	small := canonical(t, JSON([]byte(`{"b":1,"a":2}`)))
	if canonical(t, JSON(b.Bytes())) != first || canonical(t, JSON([]byte(`{"a":2,"b":1}`))) != small {
		t.Error("a digest depends on what was digested before")
	}
}

func FuzzJSON(f *testing.F) {
	for _, in := range []string{
		`{"b":[1,2.50,{"y":null,"x":"\u00e9\ud83d\ude00\n"}],"a":-0.0e9}`, `"\ud800"`, `{"a":1,"a":2}`,
		`[1e999999999,1E-7,123456789012345678901234567890]`, `[[[[]]]]`, `{"\"":1,"!":2,"\\":3}`, ` true `, `{"":{"":{}}}`,
		"\"\u2028<>&\"", `[0e99999999999999999999]`, `{"a\nb":1,"a":2}`,
	} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		once, err := canonicalText(in)
		if err != nil {
			return
		}
		if twice, err := canonicalText(once); err != nil || twice != once {
			t.Fatalf("canonical form of %q is not its own: %q, %q, %v", in, once, twice, err)
		}
		d := json.NewDecoder(strings.NewReader(in))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%q is accepted here but not by encoding/json: %v", in, err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := canonicalText(string(again)); err != nil || got != once {
			t.Fatalf("%q is %q, but written again as %q it is %q, %v", in, once, again, got, err)
		}
	})
}
