package fingerprint

import (
	"bytes"
	"slices"
)

type pair struct{ name, value []byte }

// pairs writes the pairs of a query or a form, sorted by name.
func (p *preimage) pairs(part string, encoded []byte) error {
	pairs, err := parsePairs(part, encoded)
	if err != nil {
		return err
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return bytes.Compare(a.name, b.name) })
	p.count(len(pairs))
	for _, pair := range pairs {
		p.bytes(pair.name)
		p.bytes(pair.value)
	}
	return nil
}

// parsePairs decodes application/x-www-form-urlencoded (WHATWG URL Standard,
// section 5.1), but for a percent sign without two digits, which it refuses:
// servers disagree about what that says.
func parsePairs(part string, encoded []byte) ([]pair, error) {
	if len(encoded) == 0 {
		return nil, nil
	}
	d := formDecoder{part: part, in: encoded, out: make([]byte, 0, len(encoded))}
	pairs := make([]pair, 0, bytes.Count(encoded, []byte("&"))+1)
	for start := 0; start <= len(encoded); {
		end := start + indexOrLen(encoded[start:], '&')
		if end > start {
			equals := start + indexOrLen(encoded[start:end], '=')
			name, err := d.decode(start, equals)
			if err != nil {
				return nil, err
			}
			value, err := d.decode(min(equals+1, end), end)
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, pair{name, value})
		}
		start = end + 1
	}
	return pairs, nil
}

// indexOrLen returns where c first stands in b, or b's length.
func indexOrLen(b []byte, c byte) int {
	if i := bytes.IndexByte(b, c); i >= 0 {
		return i
	}
	return len(b)
}

// A formDecoder decodes stretches of in. All go into out, which never grows
// beyond its first capacity, because decoding only shortens.
type formDecoder struct {
	part    string
	in, out []byte
}

func (d *formDecoder) decode(start, end int) ([]byte, error) {
	from := len(d.out)
	for i := start; i < end; i++ {
		b := d.in[i]
		switch b {
		case '+':
			b = ' '
		case '%':
			if end-i < 3 {
				return nil, d.fault(i)
			}
			high, ok1 := unhex(d.in[i+1])
			low, ok2 := unhex(d.in[i+2])
			if !ok1 || !ok2 {
				return nil, d.fault(i)
			}
			b = high<<4 | low
			i += 2
		}
		d.out = append(d.out, b)
	}
	return d.out[from:], nil
}

func (d *formDecoder) fault(offset int) error {
	return &Error{Part: d.part, Fault: "percent sign without two hexadecimal digits", Offset: offset}
}
