package fingerprint

// DepthMax is how many arrays and objects may be open at once in a JSON text.
// RFC 8259 section 9 lets a parser set such a limit.
const DepthMax = 64

// A canonicalizer reads the JSON text in from position at and appends its
// canonical form to out.
type canonicalizer struct {
	in      []byte
	at      int
	out     []byte
	members []member // of all objects that are open, the innermost last
	depth   int
}

func (c *canonicalizer) document(ignore *node) error {
	c.space()
	if c.at == len(c.in) {
		return c.fault("empty text")
	}
	if err := c.value(ignore); err != nil {
		return err
	}
	c.space()
	if c.at < len(c.in) {
		return c.fault("data after the text")
	}
	return nil
}

func (c *canonicalizer) value(ignore *node) error {
	switch b := c.peek(); b {
	case '{':
		return c.object(ignore)
	case '[':
		return c.array(ignore)
	case '"':
		return c.string()
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	default:
		if b == '-' || isDigit(b) {
			return c.number()
		}
		return c.unexpected()
	}
}

func (c *canonicalizer) array(ignore *node) error {
	if err := c.enter(); err != nil {
		return err
	}
	c.out = append(c.out, '[')
	start := len(c.out)
	if c.peek() == ']' {
		c.leave(']')
		return nil
	}
	for i := 0; ; i++ {
		if err := c.element(start, ignore.index(i)); err != nil {
			return err
		}
		switch c.peek() {
		case ',':
			c.at++
			c.space()
		case ']':
			c.leave(']')
			return nil
		default:
			return c.unexpected()
		}
	}
}

// element reads one element and the white space after it. An element that does
// not count is read, so that it must be well formed, and then left out.
func (c *canonicalizer) element(start int, ignore *node) error {
	before := len(c.out)
	if before > start {
		c.out = append(c.out, ',')
	}
	if err := c.value(ignore); err != nil {
		return err
	}
	if ignore.matches() {
		c.out = c.out[:before]
	}
	c.space()
	return nil
}

func (c *canonicalizer) enter() error {
	if c.depth == DepthMax {
		return c.fault("nested too deeply")
	}
	c.depth++
	c.at++
	c.space()
	return nil
}

func (c *canonicalizer) leave(end byte) {
	c.out = append(c.out, end)
	c.depth--
	c.at++
}

func (c *canonicalizer) literal(word string) error {
	rest := c.in[c.at:]
	if len(rest) < len(word) || string(rest[:len(word)]) != word {
		return c.fault("not a JSON value")
	}
	c.out = append(c.out, word...)
	c.at += len(word)
	return nil
}

// peek returns the next byte, and 0, which no grammar rule expects, at the end.
func (c *canonicalizer) peek() byte {
	if c.at < len(c.in) {
		return c.in[c.at]
	}
	return 0
}

func (c *canonicalizer) space() {
	for c.at < len(c.in) {
		switch c.in[c.at] {
		case ' ', '\n', '\r', '\t':
			c.at++
		default:
			return
		}
	}
}

func (c *canonicalizer) unexpected() error {
	if c.at == len(c.in) {
		return c.fault("unexpected end")
	}
	return c.fault("unexpected character")
}

func (c *canonicalizer) fault(fault string) error { return faultAt(fault, c.at) }

func faultAt(fault string, offset int) error {
	return &Error{Part: "json", Fault: fault, Offset: offset}
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
