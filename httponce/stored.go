package httponce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// outcomeKind is the Kind of the outcomes of this package.
const outcomeKind = "http"

// The encoding of a recorded answer, version 1:
//
//	1 byte   version
//	1 byte   flags: 1 the body was not stored
//	uvarint  status
//	text     fields: uvarint number of values in all, then each field: text name, 1 byte added, uvarint number of
//	         values, each a text
//	rest     body
//
// where a text is its length in bytes as uvarint, and its bytes. The fields are one text so that they are read as
// parts of one string.
const (
	storedVersion = 1
	flagTombstone = 1
)

var (
	errNewer   = errors.New("httponce: the recorded answer has a newer encoding")
	errDamaged = errors.New("httponce: the recorded answer is damaged")
)

// store encodes what is recorded of p, in memory of its own.
func (o *Options) store(p *reply, names []string) []byte {
	var room [512]byte // the fields of most answers
	fields := appendFields(room[:0], p.fields, names)
	if p.secret || len(fields)+len(p.body) > o.StoredBytesMax {
		return o.tombstone(p)
	}
	return appendStored(0, p.status, fields, p.body)
}

// tombstone encodes that p happened: its status, and its Location if there is room.
func (o *Options) tombstone(p *reply) []byte {
	fields := appendFields(nil, p.fields, []string{"Location"})
	if len(fields) > o.StoredBytesMax {
		fields = appendFields(nil, nil, nil)
	}
	return appendStored(flagTombstone, p.status, fields, nil)
}

func appendStored(flags byte, status int, fields, body []byte) []byte {
	b := make([]byte, 0, 2+2*binary.MaxVarintLen32+len(fields)+len(body))
	b = append(b, storedVersion, flags)
	b = binary.AppendUvarint(b, uint64(status))
	b = binary.AppendUvarint(b, uint64(len(fields)))
	b = append(b, fields...)
	return append(b, body...)
}

// appendFields encodes those of the fields that are named, in the order of their names.
func appendFields(b []byte, fields []field, names []string) []byte {
	total := 0
	for _, f := range fields {
		if slices.Contains(names, f.name) {
			total += len(f.values)
		}
	}
	b = binary.AppendUvarint(b, uint64(total))
	for _, name := range names {
		for _, f := range fields {
			if f.name == name {
				b = f.append(b)
			}
		}
	}
	return b
}

func (f field) append(b []byte) []byte {
	b = appendText(b, f.name)
	b = append(b, boolByte(f.added))
	b = binary.AppendUvarint(b, uint64(len(f.values)))
	for _, value := range f.values {
		b = appendText(b, value)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// stored is a decoded answer. Its body is a part of what was decoded and must not be changed.
type stored struct {
	reply
	tombstone bool
	room      [4]field // for the fields of most answers
}

// decode reads a recorded answer. All lengths are checked against what is there before room is made.
func (s *stored) decode(b []byte) error {
	if len(b) < 2 {
		return errDamaged
	}
	if b[0] != storedVersion {
		return fmt.Errorf("%w: version %d", errNewer, b[0])
	}
	status, n := binary.Uvarint(b[2:])
	if n <= 0 || status < 200 || status > 999 || b[1] > flagTombstone {
		return errDamaged
	}
	rest := b[2+n:]
	size, n := binary.Uvarint(rest)
	if n <= 0 || size > uint64(len(rest)-n) {
		return errDamaged
	}
	rest = rest[n:]
	s.status, s.body, s.tombstone = int(status), rest[size:], b[1] == flagTombstone
	r := reader{rest: string(rest[:size])}
	s.fields = r.fields(s.room[:0])
	if r.failed {
		return errDamaged
	}
	return nil
}

// reader reads the parts of the fields; after a failure everything is empty.
type reader struct {
	rest   string
	values []string // room for the values of all fields
	failed bool
}

func (r *reader) fields(fields []field) []field {
	r.values = make([]string, 0, r.number())
	for len(r.rest) > 0 {
		fields = append(fields, r.field())
	}
	r.failed = r.failed || len(r.values) < cap(r.values)
	return fields
}

func (r *reader) field() field {
	f := field{name: r.text(), added: r.number() == 1}
	start := len(r.values)
	for n := r.number(); n > 0 && !r.failed; n-- {
		if len(r.values) == cap(r.values) {
			r.fail()
			return field{}
		}
		r.values = append(r.values, r.text())
	}
	if end := len(r.values); end > start {
		f.values = r.values[start:end:end]
	}
	if !storable(f.name) {
		r.fail()
	}
	return f
}

func (r *reader) fail() {
	r.rest, r.failed = "", true
}

// number reads a number; it counts things of a byte or more, and so is at most what is there.
func (r *reader) number() int {
	n := uint64(0)
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen32; i++ {
		n |= uint64(r.rest[i]&0x7f) << (7 * i)
		if r.rest[i] < 0x80 {
			if r.rest = r.rest[i+1:]; n > uint64(len(r.rest)) {
				break
			}
			return int(n)
		}
	}
	r.fail()
	return 0
}

func (r *reader) text() string {
	n := r.number()
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

// storable guards the response against a record that was not written by store.
func storable(name string) bool {
	return name == http.CanonicalHeaderKey(name) && !forbidden(name)
}
