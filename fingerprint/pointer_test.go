package fingerprint

import (
	"strings"
	"testing"
)

func TestIgnoredMembers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		ignore []string
		in     string
		want   string
	}{
		{"member", []string{"/a"}, `{"a":1,"b":2}`, `{"b":2}`},
		{"the only member", []string{"/a"}, `{"a":{"x":[1]}}`, `{}`},
		{"last member", []string{"/b"}, `{"a":1,"b":2}`, `{"a":1}`},
		{"middle member", []string{"/b"}, `{"a":1,"b":2,"c":3}`, `{"a":1,"c":3}`},
		{"all members", []string{"/a", "/b"}, `{"a":1,"b":2}`, `{}`},
		{"absent", []string{"/z", "/a/z", "/b/z/0"}, `{"a":{"y":1},"b":2}`, `{"a":{"y":1},"b":2}`},
		{"nested", []string{"/a/b"}, `{"a":{"b":1,"c":2},"b":3}`, `{"a":{"c":2},"b":3}`},
		{"escaped name in the text", []string{"/trace"}, `{"\u0074race":1,"b":2}`, `{"b":2}`},
		{"tilde and slash", []string{"/~0a~1b"}, `{"~a/b":1,"~0a~1b":2}`, `{"~0a~1b":2}`},
		{"~01 is ~1", []string{"/~01"}, `{"~1":1,"/":2}`, `{"/":2}`},
		{"quotation mark", []string{`/"`}, `{"\"":1,"b":2}`, `{"b":2}`},
		{"control", []string{"/\n"}, `{"\u000A":1,"b":2}`, `{"b":2}`},
		{"empty name", []string{"/"}, `{"":1,"b":2}`, `{"b":2}`},
		{"empty name below", []string{"/a/"}, `{"a":{"":1,"b":2}}`, `{"a":{"b":2}}`},
		{"beyond ASCII", []string{"/é😀"}, `{"\u00e9\ud83d\ude00":1,"b":2}`, `{"b":2}`},
		{"first element", []string{"/0"}, `[1,2,3]`, `[2,3]`},
		{"middle element", []string{"/1"}, `[1,2,3]`, `[1,3]`},
		{"last element", []string{"/2"}, `[1,2,3]`, `[1,2]`},
		{"only element", []string{"/0"}, `[1]`, `[]`},
		{"all elements", []string{"/0", "/1"}, `[1,2]`, `[]`},
		{"indexes are those of the text", []string{"/0", "/1"}, `[1,2,3]`, `[3]`},
		{"element 10", []string{"/10"}, `[0,1,2,3,4,5,6,7,8,9,10,11]`, `[0,1,2,3,4,5,6,7,8,9,11]`},
		{"member of an element", []string{"/a/1/t"}, `{"a":[{"t":1},{"t":2,"u":3}]}`, `{"a":[{"t":1},{"u":3}]}`},
		{"leading zero is no index", []string{"/01", "/-"}, `[1,2]`, `[1,2]`},
		{"but a name", []string{"/01", "/-", "/0"}, `{"01":1,"-":2,"0":3,"1":4}`, `{"1":4}`},
		{"outer wins", []string{"/a/b", "/a"}, `{"a":{"b":1,"c":2}}`, `{}`},
		{"twice", []string{"/a", "/a"}, `{"a":1}`, `{}`},
		{"scalar", []string{"/a"}, `1`, `1`},
		{"unsorted", []string{"/m"}, `{"z":1,"m":2,"a":3}`, `{"a":3,"z":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := canonicalText(tt.in, tt.ignore...)
			if err != nil || got != tt.want {
				t.Errorf("%s without %q\n got %s, %v\nwant %s", tt.in, tt.ignore, got, err, tt.want)
			}
		})
	}
}

func TestIgnoredMembersMustBeWellFormed(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"a":}`, `{"a":tru}`, `{"a":"\ud800"}`, `{"a":1,"a":2}`, `{"a":{"x":1,"x":1}}`, `{"a":1e9999999999}`,
		"{\"a\":\"\xff\"}", `{"a":` + strings.Repeat("[", DepthMax) + strings.Repeat("]", DepthMax) + `}`,
	} {
		if _, err := canonicalText(in, "/a"); err == nil {
			t.Errorf("%s is accepted", in)
		}
	}
}

func TestRuleValidate(t *testing.T) {
	t.Parallel()
	for _, r := range []Rule{
		{},
		{Ignore: []string{"/", "/a", "/a/0/~0~1", "//", "/é"}, Headers: []string{"If-Match", "x-tenant", "!#$%&'*+-.^_`|~09"}},
	} {
		if err := r.Validate(); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
	for _, pointer := range []string{"", "a", "a/b", "#/a", "/~", "/a~", "/~2", "/~/0", "/a~x/b", "/\xff"} {
		r := Rule{Version: 7, Ignore: []string{"/ok", pointer}}
		if err := r.Validate(); err == nil {
			t.Errorf("%q is accepted", pointer)
		}
		request := &Request{Rules: []Rule{r}, ContentType: "application/json", Body: []byte(`1`)}
		if _, err := request.Canonical(request.Current()); err == nil {
			t.Errorf("%q is used", pointer)
		}
	}
	for _, name := range []string{"", "a b", "a:", "é", "a\n"} {
		if err := (Rule{Headers: []string{name}}).Validate(); err == nil {
			t.Errorf("header %q is accepted", name)
		}
	}
}

// The reference is RFC 6901 section 4 to the letter: replace ~1, then ~0.
func FuzzPointer(f *testing.F) {
	for _, pointer := range []string{"", "/", "/a", "/a/b/0", "/~0~1", "/~01", "a", "/~", "/~2", "/é\n\"\\", "//", "/\xff"} {
		f.Add(pointer)
	}
	f.Fuzz(func(t *testing.T, pointer string) {
		names, fault := parsePointer(pointer)
		valid := strings.HasPrefix(pointer, "/") && strings.ToValidUTF8(pointer, "") == pointer &&
			strings.Count(pointer, "~") == strings.Count(pointer, "~0")+strings.Count(pointer, "~1")
		if (fault == "") != valid {
			t.Fatalf("%q: %s", pointer, fault)
		}
		if fault != "" {
			return
		}
		tokens := strings.Split(pointer[1:], "/")
		if len(tokens) != len(names) {
			t.Fatalf("%q: %q", pointer, names)
		}
		for i, token := range tokens {
			want := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
			var got []byte
			for rest := names[i]; len(rest) > 0; {
				b, size := unescapeByte(rest)
				got, rest = append(got, b), rest[size:]
			}
			if string(got) != want {
				t.Fatalf("%q: token %d is %q, want %q", pointer, i, got, want)
			}
		}
	})
}
