package fingerprint

import (
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// The two-character escapes of RFC 8259 section 7, as the letter and the byte
// it stands for. The solidus and 'u' are apart.
var (
	escapeByte   = [256]byte{'"': '"', '\\': '\\', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}
	escapeLetter = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}
)

// string reads a string and writes it with the escapes of RFC 8785 section
// 3.2.2.2: none but for the quotation mark, the backslash and controls.
func (c *canonicalizer) string() error {
	c.out = append(c.out, '"')
	c.at++
	for {
		if err := c.plain(); err != nil {
			return err
		}
		switch c.peek() {
		case '"':
			c.out = append(c.out, '"')
			c.at++
			return nil
		case '\\':
			if err := c.escape(); err != nil {
				return err
			}
		default:
			if c.at == len(c.in) {
				return c.fault("unexpected end")
			}
			return c.fault("control character in a string")
		}
	}
}

// plain copies bytes up to the next quotation mark, backslash, control or end.
func (c *canonicalizer) plain() error {
	rest := c.in[c.at:]
	n := 0
	for n < len(rest) {
		b := rest[n]
		if b < ' ' || b == '"' || b == '\\' {
			break
		}
		if b < utf8.RuneSelf {
			n++
			continue
		}
		r, size := utf8.DecodeRune(rest[n:])
		if r == utf8.RuneError && size == 1 {
			return faultAt("invalid UTF-8", c.at+n)
		}
		n += size
	}
	c.out = append(c.out, rest[:n]...)
	c.at += n
	return nil
}

func (c *canonicalizer) escape() error {
	start := c.at
	c.at++
	letter := c.peek()
	c.at++
	switch {
	case letter == 'u':
		r, err := c.escapedRune(start)
		c.out = appendRune(c.out, r)
		return err
	case letter == '/':
		c.out = append(c.out, '/')
		return nil
	case escapeByte[letter] != 0:
		c.out = append(c.out, '\\', letter)
		return nil
	}
	return faultAt("unknown escape", start)
}

// escapedRune reads what follows a \u that stands at start: four digits, and
// for a character beyond U+FFFF its second surrogate.
func (c *canonicalizer) escapedRune(start int) (rune, error) {
	r, ok := c.hex4()
	if !ok {
		return 0, faultAt("unknown escape", start)
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if c.peek() == '\\' && c.at+1 < len(c.in) && c.in[c.at+1] == 'u' {
		c.at += 2
		if low, ok := c.hex4(); ok {
			r = utf16.DecodeRune(r, low)
		}
	}
	if utf16.IsSurrogate(r) || r == utf8.RuneError {
		return 0, faultAt("lone surrogate", start)
	}
	return r, nil
}

func (c *canonicalizer) hex4() (rune, bool) {
	if len(c.in)-c.at < 4 {
		return 0, false
	}
	var r rune
	for _, b := range c.in[c.at : c.at+4] {
		digit, ok := unhex(b)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	c.at += 4
	return r, true
}

// appendRune writes one character of a string in canonical form.
func appendRune(out []byte, r rune) []byte {
	switch {
	case r < utf8.RuneSelf && escapeLetter[r] != 0:
		return append(out, '\\', escapeLetter[r])
	case r < ' ':
		return append(out, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
	}
	return utf8.AppendRune(out, r)
}

// unescapeByte returns the first byte that canonical string text stands for,
// and how many bytes of the text stand for it.
func unescapeByte(s []byte) (b byte, size int) {
	if s[0] != '\\' {
		return s[0], 1
	}
	if s[1] != 'u' {
		return escapeByte[s[1]], 2
	}
	high, _ := unhex(s[4])
	low, _ := unhex(s[5])
	return high<<4 | low, 6
}

func unhex(b byte) (digit byte, ok bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}
