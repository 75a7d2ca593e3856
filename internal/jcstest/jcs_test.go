package jcstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"

	"github.com/onceward/onceward/fingerprint"
)

// sameHere reports whether two JSON texts have one meaning in fingerprint.
func sameHere(t *testing.T, a, b string) bool {
	t.Helper()
	stored, err := fingerprint.Of(fingerprint.JSON([]byte(a)))
	if err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	same, err := stored.Same(fingerprint.JSON([]byte(b)))
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return same
}

// sameInJCS reports whether two JSON texts have one canonical form in JCS.
func sameInJCS(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := jcs.Transform([]byte(a))
	if err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	y, err := jcs.Transform([]byte(b))
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return bytes.Equal(x, y)
}

// Every text is compared with every other, so that both verdicts occur.
func TestAgreesOnHandPickedTexts(t *testing.T) {
	t.Parallel()
	texts := []string{
		`{}`, ` { } `, `[]`, `[ ]`, `{"a":null}`, `{"a":0}`, `{"a":-0}`, `{"a":0.0}`, `{"a":"0"}`, `{"a":false}`, `{"a":""}`, `{"a":[]}`, `{"a":{}}`,
		`{"a":1,"b":2}`, `{"b":2,"a":1}`, "{\n\"b\" : 2e0 , \"\\u0061\" : 1.0 }\n", `{"a":2,"b":1}`, `{"a":1,"b":2,"c":null}`,
		`[1,2]`, `[2,1]`, `[10e-1,0.2e1]`, `[[1],2]`, `[[1,2]]`, `[12]`, `["1","2"]`, `["1,2"]`,
		`["é"]`, `["\u00e9"]`, `["\u00E9"]`, `["e\u0301"]`, `["😀"]`, `["\ud83d\ude00"]`, `["\uD83D\uDE00"]`, `["\ufffd"]`,
		`{"😀":1,"\ufb33":2}`, `{"\ufb33":2,"\ud83d\ude00":1}`, `{"😀":2,"\ufb33":1}`,
		`["\n\t\"\\\/"]`, `["\u000a\u0009\u0022\u005c\u002f"]`, `["\u001f"]`, `["\u001F"]`, `["\u007f"]`, `["<>&\u2028"]`,
		`{"\"":1,"!":2}`, `{"!":2,"\u0022":1}`, `{"!":1,"\"":2}`, `[1.5]`, `[15e-1]`, `[0.15e1]`, `[-1.5]`, `[1e21]`, `[1000000000000000000000]`, `[1e-7]`, `[0.0000001]`,
	}
	same := 0
	for i, a := range texts {
		for _, b := range texts[i+1:] {
			here := sameHere(t, a, b)
			if here != sameInJCS(t, a, b) {
				t.Errorf("%s and %s: same here is %v, in JCS it is not", a, b, here)
			}
			if here {
				same++
			}
		}
	}
	if same < 15 {
		t.Errorf("only %d pairs were the same: the test compares nothing", same)
	}
}

// A generator makes values, and spells one value in many ways.
type generator struct{ *rand.Rand }

func (g generator) value(depth int) any {
	kinds := 7
	if depth == 0 {
		kinds = 5
	}
	switch g.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2:
		return g.IntN(2_000_001) - 1_000_000
	case 3, 4:
		return g.text()
	case 5:
		list := make([]any, g.IntN(4))
		for i := range list {
			list[i] = g.value(depth - 1)
		}
		return list
	}
	object := map[string]any{}
	for range g.IntN(15) {
		object[g.text()] = g.value(depth - 1)
	}
	return object
}

func (g generator) text() string {
	alphabet := []rune("ab01\"\\/\n\x01 é\u0301\u2028\ufb33😀\U0010ffff")
	text := make([]rune, g.IntN(12))
	for i := range text {
		text[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(text)
}

// spell writes v with white space, escapes, numbers and members at random.
func (g generator) spell(b *strings.Builder, v any) {
	b.WriteString(strings.Repeat(" ", g.IntN(2)))
	switch v := v.(type) {
	case int:
		b.WriteString(g.number(v))
	case string:
		g.spellText(b, v)
	case []any:
		g.list(b, "[]", len(v), func(i int) { g.spell(b, v[i]) })
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		g.list(b, "{}", len(names), func(i int) {
			g.spellText(b, names[i])
			b.WriteByte(':')
			g.spell(b, v[names[i]])
		})
	default:
		text, _ := json.Marshal(v)
		b.Write(text)
	}
	b.WriteString(strings.Repeat("\n", g.IntN(2)))
}

func (g generator) list(b *strings.Builder, brackets string, n int, item func(int)) {
	b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		item(i)
	}
	b.WriteByte(brackets[1])
}

func (g generator) number(n int) string {
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("%d.000", n)
	case 1:
		return fmt.Sprintf("%d00e-2", n)
	case 2:
		return fmt.Sprintf("%dE+0", n)
	}
	return fmt.Sprint(n)
}

func (g generator) spellText(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r > 0xffff || r >= ' ' && r != '"' && r != '\\' && g.IntN(2) == 0:
			b.WriteRune(r)
		case g.IntN(2) == 0:
			fmt.Fprintf(b, `\u%04X`, r)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
}

func (g generator) spelled(v any) string {
	var b strings.Builder
	g.spell(&b, v)
	return b.String()
}

func TestAgreesOnGeneratedTexts(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(1, 2))}
	before := g.value(4)
	for range 1000 {
		v := g.value(4)
		one, two, other := g.spelled(v), g.spelled(v), g.spelled(before)
		if !sameInJCS(t, one, two) || !sameHere(t, one, two) {
			t.Fatalf("one value spelled twice:\n%s\n%s", one, two)
		}
		if sameInJCS(t, one, other) != sameHere(t, one, other) {
			t.Fatalf("JCS and fingerprint disagree about\n%s\n%s", one, other)
		}
		before = v
	}
}

// RFC 8785 section 3.2.2.3 reads numbers as IEEE 754 doubles. For amounts and
// ids that is a collision: another request would be taken for a retry.
func TestDiffersWhereJCSRounds(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{`[9007199254740992]`, `[9007199254740993]`}, // 2^53, 2^53+1
		{`[-9007199254740992]`, `[-9007199254740993]`},
		{`[9223372036854775807]`, `[9223372036854775808]`},
		{`[0.1]`, `[0.1000000000000000055511151231257827]`},
		{`[12345678901234567.89]`, `[12345678901234567.88]`},
		{`[1e-400]`, `[0]`},
		{`[123456789012345678901234567890]`, `[123456789012345678901234567891]`},
	} {
		if !sameInJCS(t, pair[0], pair[1]) {
			t.Errorf("JCS tells %s from %s now: move them to the texts that both agree on", pair[0], pair[1])
		}
		if sameHere(t, pair[0], pair[1]) {
			t.Errorf("%s and %s are one meaning", pair[0], pair[1])
		}
	}
}

func TestReadsNumbersThatJCSCannot(t *testing.T) {
	t.Parallel()
	if _, err := jcs.Transform([]byte(`[1e400]`)); err == nil {
		t.Error("JCS reads 1e400 now")
	}
	if !sameHere(t, `[1e400]`, `[10e399]`) || sameHere(t, `[1e400]`, `[1e401]`) {
		t.Error("1e400 is not compared by its value")
	}
}
