package fingerprint

import (
	"errors"
	"math/big"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func TestF16_NumbersCompareByExactDecimalValue(t *testing.T) {
	t.Parallel()
	values := [][]string{
		{`0`, `-0`, `0.0`, `-0.000`, `0e5`, `0E-5`, `-0.0e+0`, `0e99999999999999999999999`},
		{`1`, `1.0`, `1.000`, `1e0`, `10e-1`, `0.1e1`, `1E+0`, `1e00`, `1e-0`, `100000e-5`},
		{`-1`, `-1.0`, `-10e-1`},
		{`10`, `1e1`, `1.0e1`, `100e-1`, `0.01e3`},
		{`12.5`, `125e-1`, `1.25e1`, `12.50`, `0.00125e4`, `12500e-3`},
		{`0.1`, `1e-1`, `0.10`, `10e-2`},
		{`0.1000000000000000055511151231257827`}, // the float64 next to 0.1
		{`9007199254740992`, `9.007199254740992e15`},
		{`9007199254740993`, `9007199254740993.0`}, // 2^53+1
		{`9223372036854775807`},
		{`9223372036854775808`}, // beyond int64
		{`18446744073709551616`},
		{`18446744073709551617`},
		{`1e400`, `10e399`, `0.1e401`},
		{`1e401`},
		{`1e-400`},
		{`1e999999999`, `0.1e1000000000`},
		{`1e999999998`, `10e999999997`},
		{`1e-999999999`, `10e-1000000000`, `1e-00000000000000999999999`},
		{`100`, `1e2`},
		{`1000000000000000000000000000000`, `1e30`},
		{`1000000000000000000000000000001`},
	}
	seen := map[string]string{}
	for _, spellings := range values {
		want := ""
		for i, in := range spellings {
			got, err := canonicalText(in)
			if err != nil {
				t.Errorf("%s: %v", in, err)
			}
			if i == 0 {
				want = got
			}
			if got != want {
				t.Errorf("%s is %s, but %s is %s", spellings[0], want, in, got)
			}
		}
		if other, ok := seen[want]; ok {
			t.Errorf("%s and %s are both %s", other, spellings[0], want)
		}
		seen[want] = spellings[0]
	}
}

func TestF16_CanonicalNumbers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`-0`: `0`, `100`: `1e2`, `-100.50`: `-1005e-1`, `0.00120`: `12e-4`, `42`: `42`, `1005`: `1005`,
		`[-0,1]`: `[0,1]`, `9007199254740993`: `9007199254740993`,
	} {
		if got, err := canonicalText(in); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", in, got, err, want)
		}
	}
}

func TestMalformedNumbers(t *testing.T) {
	t.Parallel()
	huge := strconv.Itoa(ExponentMax + 1)
	for _, tt := range []struct {
		in, fault string
		offset    int
	}{
		{`01`, "data after the text", 1},
		{`-01`, "data after the text", 2},
		{`+1`, "unexpected character", 0},
		{`.5`, "unexpected character", 0},
		{`1.`, "unexpected end", 2},
		{`[1.]`, "unexpected character", 3},
		{`-`, "unexpected end", 1},
		{`-a`, "unexpected character", 1},
		{`1e`, "unexpected end", 2},
		{`1e+`, "unexpected end", 3},
		{`1e.5`, "unexpected character", 2},
		{`1.5.5`, "data after the text", 3},
		{`0x10`, "data after the text", 1},
		{`NaN`, "unexpected character", 0},
		{`-Infinity`, "unexpected character", 1},
		{`[1,1e` + huge + `]`, "exponent out of bounds", 3},
		{`1e-` + huge, "exponent out of bounds", 0},
		{`10e999999999`, "exponent out of bounds", 0}, // bounded after trimming
		{`0.1e-999999999`, "exponent out of bounds", 0},
		{`1e` + strings.Repeat("9", 100), "exponent out of bounds", 0},
		{`-1e-` + strings.Repeat("9", 100), "exponent out of bounds", 0},
		{`1e18446744073709551616`, "exponent out of bounds", 0}, // 2^64 must not wrap to 0
	} {
		_, err := canonicalText(tt.in)
		var e *Error
		if !errors.As(err, &e) || *e != (Error{"json", tt.fault, tt.offset}) {
			t.Errorf("%.30s: got %v, want %s at %d", tt.in, err, tt.fault, tt.offset)
		}
	}
}

// Not parallel: it measures what all goroutines allocate.
func TestF16_ExponentsAreNotExpanded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := canonicalText(`[1e999999999,-1e-999999999]`); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes for a 27 byte text", used)
	}
}

var (
	numberGrammar = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	longExponent  = regexp.MustCompile(`[eE][+-]?0*[1-9][0-9]{3}`)
)

func FuzzNumber(f *testing.F) {
	for _, pair := range [][2]string{
		{"1", "1.0"},
		{"-0", "0"},
		{"10e-1", "1e0"},
		{"9007199254740992", "9007199254740993"},
		{"0.10", "1E-1"},
		{"1e999999999", "1e999999998"},
		{"01", "1"},
		{"1.", "1"},
		{"120e-3", "0.12"},
		{"-5", "5"},
		{"1e99", "1e+099"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okA := canonicalNumber(t, a)
		y, okB := canonicalNumber(t, b)
		if !okA || !okB || longExponent.MatchString(a) || longExponent.MatchString(b) {
			return
		}
		p, q := rat(t, a), rat(t, b)
		if (x == y) != (p.Cmp(q) == 0) {
			t.Fatalf("%s is %s, %s is %s, but math/big compares them as %d", a, x, b, y, p.Cmp(q))
		}
		if rat(t, x).Cmp(p) != 0 {
			t.Fatalf("%s became %s, which is another number", a, x)
		}
	})
}

// canonicalNumber also checks that exactly the grammar's numbers are accepted.
func canonicalNumber(t *testing.T, in string) (text string, ok bool) {
	if in == "" || in[0] != '-' && !isDigit(in[0]) {
		return "", false
	}
	c := canonicalizer{in: []byte(in)}
	err := c.document(nil)
	var e *Error
	bounded := !errors.As(err, &e) || e.Fault != "exponent out of bounds"
	in = strings.TrimRight(in, " \t\r\n")
	if bounded && (err == nil) != numberGrammar.MatchString(in) {
		t.Fatalf("%q: %v", in, err)
	}
	return string(c.out), err == nil
}

func rat(t *testing.T, s string) *big.Rat {
	r, ok := new(big.Rat).SetString(strings.TrimSpace(s))
	if !ok {
		t.Fatalf("math/big does not read %q", s)
	}
	return r
}
