package httponce

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"unicode"
)

// namesOf are the names of all members that a type takes, as they are and folded.
func namesOf(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	collect(t, names, map[reflect.Type]bool{})
	return names
}

func collect(t reflect.Type, names map[string]bool, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		collect(t.Elem(), names, seen)
	case reflect.Struct:
		for field := range t.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			name = orDefault(name, field.Name)
			names[name], names[folded(name)] = true, true
			collect(field.Type, names, seen)
		}
	}
}

// folded is the same for all names that differ in case only.
func folded(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}

// twins finds two members of one object that encoding/json takes for one of names, since it does not look at case. The
// body is JSON. Names that are equal are not looked for: the canonical form refuses them.
func twins(body []byte, names map[string]bool) (one, other string) {
	var members [][]byte // of the objects that are open, the innermost last
	var starts []int     // where those of each begin; an array has none
	for at := 0; at < len(body); at++ {
		switch body[at] {
		case '{', '[':
			starts = append(starts, len(members))
		case '}', ']':
			last := len(starts) - 1
			members, starts = members[:starts[last]], starts[:last]
		case '"':
			end := stringEnd(body, at)
			if isName(body[end:]) {
				name := unquoted(body[at:end])
				twin := twinOf(name, members[starts[len(starts)-1]:])
				if twin != nil && !bytes.Equal(twin, name) {
					return string(twin), string(name)
				}
				if twin == nil && (names[string(name)] || names[folded(string(name))]) {
					members = append(members, name)
				}
			}
			at = end - 1
		}
	}
	return "", ""
}

func twinOf(name []byte, earlier [][]byte) []byte {
	for _, e := range earlier {
		if bytes.EqualFold(e, name) {
			return e
		}
	}
	return nil
}

// stringEnd is the place behind the string that begins at start.
func stringEnd(body []byte, start int) int {
	for at := start + 1; ; at++ {
		switch body[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
}

// isName reports whether what follows a string makes it a member's name.
func isName(rest []byte) bool {
	for _, b := range rest {
		switch b {
		case ' ', '\t', '\r', '\n':
		default:
			return b == ':'
		}
	}
	return false
}

func unquoted(quoted []byte) []byte {
	name := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(name, '\\') < 0 {
		return name
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // it has been read before
	return []byte(text)
}
