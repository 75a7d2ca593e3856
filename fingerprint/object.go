package fingerprint

import (
	"cmp"
	"slices"
)

// Up to so many members are sorted by insertion, which is the fastest way for
// few and the slowest for many.
const insertMembersMax = 12

// A member is one member of an object that is still open: where its name
// stands in the input, and where its canonical form stands in the output.
type member struct {
	prefix  uint64 // the first eight bytes of the unescaped name, to sort by
	offset  int    // of the name in the input, for errors
	start   int    // of the quoted name in the output
	nameEnd int
	end     int
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
	name := c.name(&m)
	m.prefix = prefix(name)
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
	c.sort(members)
	for i := 1; i < len(members); i++ {
		if c.compare(&members[i-1], &members[i]) == 0 {
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

// sort orders members by name, equal names by where they stand.
func (c *canonicalizer) sort(members []member) {
	if len(members) > insertMembersMax {
		slices.SortFunc(members, func(a, b member) int {
			return cmp.Or(c.compare(&a, &b), cmp.Compare(a.offset, b.offset))
		})
		return
	}
	for i := 1; i < len(members); i++ {
		m, j := members[i], i
		for ; j > 0 && c.compare(&m, &members[j-1]) < 0; j-- {
			members[j] = members[j-1]
		}
		members[j] = m
	}
}

// arranged reports whether the members all count and strictly ascend, as they
// do in what most encoders write.
func (c *canonicalizer) arranged(members []member) bool {
	for i := range members {
		if members[i].ignored || i > 0 && c.compare(&members[i-1], &members[i]) >= 0 {
			return false
		}
	}
	return true
}

// name is m's canonical name without the quotes.
func (c *canonicalizer) name(m *member) []byte { return c.out[m.start+1 : m.nameEnd-1] }

// compare orders members by the code points of their names, which is the order
// of their UTF-8. The prefixes nearly always decide.
func (c *canonicalizer) compare(a, b *member) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	x, y := c.name(a), c.name(b)
	for len(x) > 0 && len(y) > 0 {
		// An escape stands for another byte than its backslash.
		p, n := unescapeByte(x)
		q, m := unescapeByte(y)
		if p != q {
			return cmp.Compare(p, q)
		}
		x, y = x[n:], y[m:]
	}
	return len(x) - len(y)
}

// prefix returns the first eight bytes of a name as a number that sorts like
// them. A shorter name is filled up with zeros, which sort before any byte.
func prefix(name []byte) (p uint64) {
	for shift := 56; shift >= 0 && len(name) > 0; shift -= 8 {
		b, size := name[0], 1
		if b == '\\' {
			b, size = unescapeByte(name)
		}
		p |= uint64(b) << shift
		name = name[size:]
	}
	return p
}
