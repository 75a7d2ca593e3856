package fingerprint

import (
	"fmt"
	"slices"
	"strings"
)

// Rule says what of a request counts, beyond what always does. Version 0 is
// fine for the first rule. Change Version whenever another field changes, and
// keep the old rule in [Request].Rules for as long as its records are kept:
// otherwise their retries fail with [ErrVersion].
type Rule struct {
	Version uint16

	// Ignore holds JSON pointers (RFC 6901) to members and array elements of a
	// JSON body that do not count: present, absent or different, the meaning is
	// the same. They must still be well formed, and members still not be
	// duplicates. A pointer that matches nothing is no fault, and bodies of
	// other types are not touched. The empty pointer, the whole text, is refused.
	Ignore []string

	// Headers holds names of header fields that count too, in any case and
	// order. Their values count byte for byte, in their order; an absent field
	// is not an empty one.
	Headers []string
}

// Validate reports the first pointer of Ignore that RFC 6901 does not allow,
// or the first of Headers that is no field name (RFC 9110 section 5.1).
func (r Rule) Validate() error {
	if _, err := r.ignored(); err != nil {
		return err
	}
	for _, name := range r.Headers {
		if name == "" || strings.ContainsFunc(name, notToken) {
			return fmt.Errorf("fingerprint: rule %d: header %q is no field name", r.Version, name)
		}
	}
	return nil
}

// ignored joins the pointers of Ignore.
func (r Rule) ignored() (*node, error) {
	tree, err := compile(r.Ignore)
	if err != nil {
		return nil, fmt.Errorf("fingerprint: rule %d: ignore: %w", r.Version, err)
	}
	return tree, nil
}

// notToken reports whether c cannot stand in a token (RFC 9110 section 5.6.2).
func notToken(c rune) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return false
	}
	return !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

// fieldNames returns the headers that count, so that neither the case nor the
// order in which a rule lists them, nor a repetition, changes a digest.
func (r Rule) fieldNames() []string {
	if len(r.Headers) == 0 {
		return nil
	}
	names := make([]string, len(r.Headers))
	for i, name := range r.Headers {
		names[i] = strings.ToLower(name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
