package fingerprint

import (
	"errors"
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
	for in, want := range map[string]string{
		`null`:                        `null`,
		` { "b" : [ ] , "a" : { } } `: `{"a":{},"b":[]}`,
		`{"b":1,"a":[2,true,false,null,"x"]}` + "\n": `{"a":[2,true,false,null,"x"],"b":1}`,
		`{"b":{"d":1,"c":2},"a":{"f":3,"e":4}}`:      `{"a":{"e":4,"f":3},"b":{"c":2,"d":1}}`,
		`"\u0061\/\"\\\b\f\n\r\t\u0001\u000A\u007f"`: `"a/\"\\\b\f\n\r\t\u0001\n` + "\x7f" + `"`,
		`"\u00e9\ud83d\ude00"`:                       `"é😀"`,
		`"` + "\ufffd" + `\ufffd"`:                   `"` + "\ufffd\ufffd" + `"`,
	} {
		got, err := canonicalText(in)
		if err != nil || got != want {
			t.Errorf("%s\n got %s, %v\nwant %s", in, got, err, want)
		}
	}
}

func TestMalformed(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, ` `, `{`, `{"a":1,"a":2}`, `1 1`, `01`, `1.`, `+1`, `.5`, `1e`, `"`, "\"\xff\"", `"\ud800"`, `tru`, `[1,]`} {
		if _, err := JSON([]byte(in)).Canonical(versionOf(0)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %v", in, err)
		}
	}
}
