package fingerprint

import (
	"bytes"
	"slices"
)

// A member is one member of an object that is still open: where its name
// stands in the input, and where its canonical form stands in the output.
type member struct {
	offset  int // of the name in the input, for errors
	start   int // of the quoted name in the output
	nameEnd int
	end     int
	escaped bool // the canonical name holds an escape
	ignored bool
}

func (c *canonicalizer) object(ignore *node) error {
	if err := c.enter(); err != nil {
		return err
	}
	c.out = append(c.out, '{')
	start, first := len(c.out), len(c.members)
	if c.peek() == '}' {
		c.leave('}')
		return nil
	}
	for {
		if err := c.member(ignore); err != nil {
			return err
		}
		switch c.peek() {
		case ',':
			c.out = append(c.out, ',')
			c.at++
			c.space()
		case '}':
			if err := c.arrange(start, c.members[first:]); err != nil {
				return err
			}
			c.members = c.members[:first]
			c.leave('}')
			return nil
		default:
			return c.unexpected()
		}
	}
}

// member reads one member and the white space after it.
func (c *canonicalizer) member(ignore *node) error {
	m := member{offset: c.at, start: len(c.out)}
	if c.peek() != '"' {
		return c.unexpected()
	}
	if err := c.string(); err != nil {
		return err
	}
	m.nameEnd = len(c.out)
	name := c.name(m)
	m.escaped = bytes.IndexByte(name, '\\') >= 0
	child := ignore.child(name)
	m.ignored = child.matches()
	c.space()
	if c.peek() != ':' {
		return c.unexpected()
	}
	c.out = append(c.out, ':')
	c.at++
	c.space()
	if err := c.value(child); err != nil {
		return err
	}
	m.end = len(c.out)
	c.members = append(c.members, m)
	c.space()
	return nil
}

// arrange puts the members, which stand in the output from start on, in order,
// and leaves out those that do not count. Duplicates are found here, because
// only here equal names meet.
func (c *canonicalizer) arrange(start int, members []member) error {
	if c.arranged(members) {
		return nil
	}
	slices.SortFunc(members, func(a, b member) int {
		if order := c.compare(a, b); order != 0 {
			return order
		}
		return a.offset - b.offset
	})
	for i := 1; i < len(members); i++ {
		if c.compare(members[i-1], members[i]) == 0 {
			return faultAt("duplicate member", members[i].offset)
		}
	}
	// The members are copied in order behind the output, then moved back.
	end := len(c.out)
	for _, m := range members {
		if m.ignored {
			continue
		}
		if len(c.out) > end {
			c.out = append(c.out, ',')
		}
		c.out = append(c.out, c.out[m.start:m.end]...)
	}
	c.out = c.out[:start+copy(c.out[start:], c.out[end:])]
	return nil
}

// arranged reports whether the members all count and strictly ascend, as they
// do in what most encoders write.
func (c *canonicalizer) arranged(members []member) bool {
	for i, m := range members {
		if m.ignored || i > 0 && c.compare(members[i-1], m) >= 0 {
			return false
		}
	}
	return true
}

// name is m's canonical name without the quotes.
func (c *canonicalizer) name(m member) []byte { return c.out[m.start+1 : m.nameEnd-1] }

// compare orders members by the code points of their names. UTF-8 has that
// order, but an escape stands for another byte than its backslash.
func (c *canonicalizer) compare(a, b member) int {
	x, y := c.name(a), c.name(b)
	if !a.escaped && !b.escaped {
		return bytes.Compare(x, y)
	}
	for len(x) > 0 && len(y) > 0 {
		p, n := unescapeByte(x)
		q, m := unescapeByte(y)
		if p != q {
			return int(p) - int(q)
		}
		x, y = x[n:], y[m:]
	}
	return len(x) - len(y)
}
