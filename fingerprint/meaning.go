package fingerprint

import (
	"encoding/json"
	"fmt"
)

// Version names the rule that made a digest; it is stored with each record. The
// high 16 bits are this package's encoding ([Encoding]), the low 16 bits the
// application's [Rule].Version, 0 for a meaning without rules.
type Version uint32

func versionOf(rule uint16) Version { return Encoding<<16 | Version(rule) }

// Meaning is what a command says. The meanings made by this package compute
// each digest at most once, when it is first asked for, and are safe for
// concurrent use; the bytes they were made from must not change meanwhile.
type Meaning interface {
	// Current is the version used for new records.
	Current() Version

	// Raw digests the bytes as they came, under the current version, without
	// the cost of canonical form. Under one version, equal raw digests imply
	// equal canonical ones; the reverse does not hold.
	Raw() Digest

	// Canonical digests the canonical form under the version asked for. The
	// error wraps [ErrVersion] for a version the meaning does not know, and is
	// an [*Error] for input that has no canonical form.
	Canonical(v Version) (Digest, error)
}

// Fingerprint is what a record stores of a meaning. The zero Fingerprint has no
// known version, so it is the same as nothing.
type Fingerprint struct {
	Version   Version
	Raw       Digest
	Canonical Digest
}

// Of computes the fingerprint of m under its current version. Its errors are
// those of [Meaning].Canonical.
func Of(m Meaning) (Fingerprint, error) {
	v := m.Current()
	canonical, err := m.Canonical(v)
	if err != nil {
		return Fingerprint{}, err
	}
	return Fingerprint{Version: v, Raw: m.Raw(), Canonical: canonical}, nil
}

// Same reports whether m says what f was made from: the raw digest is identical
// under the same version, or else the canonical digest under f's version is.
// The error wraps [ErrVersion] if m does not know f's version, and is an
// [*Error] if m has no canonical form; either way nothing is known to be the
// same, and the result is false.
func (f Fingerprint) Same(m Meaning) (bool, error) {
	if m.Current() == f.Version && m.Raw() == f.Raw {
		return true, nil
	}
	canonical, err := m.Canonical(f.Version)
	if err != nil {
		return false, err
	}
	return canonical == f.Canonical, nil
}

// Value makes a meaning of any Go value:
//
//   - nil means nothing beyond the command's key: all such meanings are the same
//   - a [Meaning] is itself
//   - []byte and string are [Bytes]
//   - [json.RawMessage] is [JSON]
//   - anything else, also a named string type, is what [json.Marshal] makes of
//     it, read as [JSON]
//
// The error is that of json.Marshal. Know its ways: it writes an invalid UTF-8
// sequence inside a string as U+FFFD, so text that may be invalid belongs in a
// []byte; and a [time.Time] is written with its zone, so one instant in two
// zones is two meanings.
func Value(v any) (Meaning, error) {
	switch v := v.(type) {
	case nil:
		return empty{}, nil
	case Meaning:
		return v, nil
	case []byte:
		return Bytes(v), nil
	case string:
		return Bytes([]byte(v)), nil
	case json.RawMessage:
		return JSON(v), nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("fingerprint: value of type %T: %w", v, err)
	}
	return JSON(b), nil
}

// Bytes is the meaning of b, byte for byte. It keeps b, which must not change.
func Bytes(b []byte) Meaning { return &content{b: b} }

// JSON is the meaning of the JSON text b, by its canonical form. It keeps b,
// which must not change. An empty b is malformed, not null.
func JSON(b []byte) Meaning { return &document{b: b} }

// empty is the meaning of a command that says nothing beyond its key.
type empty struct{}

func (empty) Current() Version { return versionOf(0) }

func (empty) Raw() Digest { return digestBytes("empty", nil) }

func (e empty) Canonical(v Version) (Digest, error) {
	if v != e.Current() {
		return Digest{}, errVersion(v)
	}
	return e.Raw(), nil
}

// content is bytes; they are their own canonical form, so it hashes once.
type content struct {
	b    []byte
	memo memo
}

func (c *content) Current() Version { return versionOf(0) }

func (c *content) Raw() Digest {
	return c.memo.raw(func() Digest { return digestBytes("bytes", c.b) })
}

func (c *content) Canonical(v Version) (Digest, error) {
	if v != c.Current() {
		return Digest{}, errVersion(v)
	}
	return c.Raw(), nil
}

// document is a JSON text.
type document struct {
	b    []byte
	memo memo
}

func (d *document) Current() Version { return versionOf(0) }

func (d *document) Raw() Digest {
	return d.memo.raw(func() Digest { return digestBytes("json raw", d.b) })
}

func (d *document) Canonical(v Version) (Digest, error) {
	if v != d.Current() {
		return Digest{}, errVersion(v)
	}
	return d.memo.canonical(v, d.canonical)
}

func (d *document) canonical() (Digest, error) {
	p := begin("json")
	defer p.release()
	if err := p.json(d.b, nil); err != nil {
		return Digest{}, err
	}
	return p.digest(), nil
}
