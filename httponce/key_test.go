package httponce

import (
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value  string
		strict bool
		key    string
		fault  string // a part of it
	}{
		{`"abc"`, false, "abc", ""},
		{`"abc"`, true, "abc", ""},
		{`abc`, false, "abc", ""},
		{`abc`, true, "", "not a quoted string"},
		{"\t \"abc\" \t", true, "abc", ""},
		{`"a\"b\\c"`, true, `a"b\c`, ""},
		{`"\\"`, true, `\`, ""},
		{`"a, b; c=d"`, true, "a, b; c=d", ""},
		{`" a "`, true, " a ", ""},
		{`8e03978e-40d5-43dd-bc93-6894a57f9324`, false, "8e03978e-40d5-43dd-bc93-6894a57f9324", ""},
		{`YWJj+/=`, false, "YWJj+/=", ""},
		{`:YWJj:`, false, ":YWJj:", ""},
		{`'abc'`, false, "'abc'", ""},
		{``, false, "", "blank"},
		{" \t", false, "", "blank"},
		{`""`, false, "", "blank"},
		{`"  "`, true, "", "blank"},
		{`"`, false, "", "no closing"},
		{`"abc`, false, "", "no closing"},
		{`"abc\`, false, "", "escapes neither"},
		{`"abc\"`, false, "", "no closing"},
		{`"a\bc"`, false, "", "escapes neither"},
		{`"abc"d`, false, "", "after its closing quote"},
		{`"abc";p`, false, "", "after its closing quote"},
		{`"abc" "d"`, false, "", "after its closing quote"},
		{`"abc","d"`, false, "", faultRepeated},
		{`"abc" , "d"`, true, "", faultRepeated},
		{`abc,`, false, "", faultRepeated},
		{`a b`, false, "", "blank, a quote"},
		{`a"b`, false, "", "blank, a quote"},
		{`a\b`, false, "", "blank, a quote"},
		{`a;b`, false, "", "blank, a quote"},
		{"a\x00b", false, "", "not printable"},
		{"a\x7f", false, "", "not printable"},
		{"é", false, "", "not printable"},
		{"\"a\tb\"", false, "", "not printable"},
		{"\"\xff\"", false, "", "not printable"},
	} {
		key, fault := parseKey(c.value, c.strict)
		if key != c.key || (fault == "") != (c.fault == "") || !strings.Contains(fault, c.fault) {
			t.Errorf("%q, strict %v: %q, %q", c.value, c.strict, key, fault)
		}
	}
}

// FuzzKey checks that what is accepted is printable, not blank and not longer than what was sent; that the quoted form
// of any key is read as that key; that strict accepts no more; and that a fault repeats nothing of the value.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{``, `abc`, `"abc"`, `"a\"b\\"`, `"a", "b"`, `a,b`, `"a";b=1`, "é", `"`, `\`, " \t"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, fault := parseKey(value, false)
		if strictly, strictFault := parseKey(value, true); strictFault == "" && (fault != "" || strictly != key) {
			t.Errorf("%q: strict reads %q, lenient %q (%s)", value, strictly, key, fault)
		}
		if fault != "" {
			if key != "" && fault == "" {
				t.Errorf("%q: a key and a fault", value)
			}
			return
		}
		if strings.Trim(key, " ") == "" || len(key) > len(value) || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q: accepted %q", value, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, fault := parseKey(quoted, true); again != key || fault != "" {
			t.Errorf("%q is read as %q (%s), written as %s", key, again, fault, quoted)
		}
	})
}
