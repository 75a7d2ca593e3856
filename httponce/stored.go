package httponce

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
)

// outcomeKind is the Kind of the outcomes of this package.
const outcomeKind = "http"

// The encoding of a recorded answer, version 1:
//
//	1 byte   version
//	1 byte   flags: 1 the body was not stored
//	uvarint  status
//	uvarint  number of fields, each: text name, 1 byte added, uvarint number of values, each a text
//	text     body
//
// where a text is its length in bytes as uvarint, and its bytes.
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
	fields := make([]field, 0, len(p.fields))
	size := 2 + 3*binary.MaxVarintLen32 + len(p.body)
	for _, name := range names {
		for _, f := range p.fields {
			if f.name == name {
				fields = append(fields, f)
				size += f.bytes()
			}
		}
	}
	if p.secret || size > o.StoredBytesMax {
		return appendTombstone(p, o.StoredBytesMax)
	}
	return appendStored(make([]byte, 0, size), 0, p.status, fields, p.body)
}

// appendTombstone encodes that p happened: its status, and its Location if there is room.
func appendTombstone(p *reply, bytesMax int) []byte {
	var fields []field
	for _, f := range p.fields {
		if f.name == "Location" && f.bytes() < bytesMax {
			fields = append(fields, f)
		}
	}
	return appendStored(nil, flagTombstone, p.status, fields, nil)
}

// bytes bounds the room that f takes.
func (f field) bytes() int {
	n := 1 + 2*binary.MaxVarintLen32 + len(f.name)
	for _, value := range f.values {
		n += binary.MaxVarintLen32 + len(value)
	}
	return n
}

func appendStored(b []byte, flags byte, status int, fields []field, body []byte) []byte {
	b = append(b, storedVersion, flags)
	b = binary.AppendUvarint(b, uint64(status))
	b = binary.AppendUvarint(b, uint64(len(fields)))
	for _, f := range fields {
		b = appendText(b, f.name)
		b = append(b, boolByte(f.added))
		b = binary.AppendUvarint(b, uint64(len(f.values)))
		for _, value := range f.values {
			b = appendText(b, value)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
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
}

// decodeStored reads a recorded answer. All lengths are checked against what is there before room is made.
func decodeStored(b []byte) (*stored, error) {
	if len(b) < 2 {
		return nil, errDamaged
	}
	if b[0] != storedVersion {
		return nil, fmt.Errorf("%w: version %d", errNewer, b[0])
	}
	r := reader{rest: b[2:]}
	s := &stored{tombstone: b[1]&flagTombstone != 0}
	s.status = r.number(999)
	if n := r.number(len(r.rest)); n > 0 {
		s.fields = make([]field, 0, min(n, 64))
		for ; n > 0 && !r.failed; n-- {
			s.fields = append(s.fields, r.field())
		}
	}
	s.body = r.bytes()
	if r.failed || len(r.rest) > 0 || s.status < 200 || b[1] > flagTombstone {
		return nil, errDamaged
	}
	return s, nil
}

// reader reads the parts of an encoding; after a failure everything is empty.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) fail() {
	r.rest, r.failed = nil, true
}

// number reads a number that is at most limit, and a length that is at most what is there.
func (r *reader) number(limit int) int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(limit) {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) bytes() []byte {
	n := r.number(len(r.rest))
	if n > len(r.rest) {
		r.fail()
		return nil
	}
	part := r.rest[:n:n]
	r.rest = r.rest[n:]
	return part
}

func (r *reader) field() field {
	f := field{name: string(r.bytes())}
	if !storable(f.name) {
		r.fail()
		return field{}
	}
	f.added = r.number(1) == 1
	if n := r.number(len(r.rest)); n > 0 {
		f.values = make([]string, 0, min(n, 64))
		for ; n > 0 && !r.failed; n-- {
			f.values = append(f.values, string(r.bytes()))
		}
	}
	return f
}

// storable guards the response against a record that was not written by store.
func storable(name string) bool {
	return name == http.CanonicalHeaderKey(name) && !forbidden(name)
}
