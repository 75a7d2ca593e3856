package fingerprint

import "strconv"

// ExponentMax bounds the power of ten, up and down, when a number is written as
// an integer that does not end in zero times a power of ten: 1e999999999 has a
// canonical form, 1e1000000000 is malformed. Zero has no exponent, so 0e with
// any is zero.
const ExponentMax = 999_999_999

// An exponent stops growing here while it is read: far beyond ExponentMax, and
// beyond what the digits of any text that fits in memory could make up for.
const exponentCeiling = 1 << 56

// number reads a number and writes its exact decimal value in the one form
// that does not depend on how it was spelled: the digits without leading and
// trailing zeros, and the power of ten unless it is zero.
func (c *canonicalizer) number() error {
	start, sign := c.at, len(c.out)
	if c.peek() == '-' {
		c.out = append(c.out, '-')
		c.at++
	}
	digits := len(c.out)
	exponent, err := c.decimal()
	if err != nil {
		return err
	}
	exponent += c.trimZeros(digits)
	switch {
	case len(c.out) == digits:
		c.out = append(c.out[:sign], '0')
	case exponent > ExponentMax || exponent < -ExponentMax:
		return faultAt("exponent out of bounds", start)
	case exponent != 0:
		c.out = append(c.out, 'e')
		c.out = strconv.AppendInt(c.out, exponent, 10)
	}
	return nil
}

// decimal reads an unsigned number (RFC 8259 section 6), appends its digits,
// and returns the power of ten of the last of them.
func (c *canonicalizer) decimal() (exponent int64, err error) {
	if c.peek() == '0' {
		c.at++
	} else if err := c.digits(); err != nil {
		return 0, err
	}
	if c.peek() == '.' {
		c.at++
		start := c.at
		if err := c.digits(); err != nil {
			return 0, err
		}
		exponent = int64(start - c.at)
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		written, err := c.exponent()
		return exponent + written, err
	}
	return exponent, nil
}

// digits copies one digit or more.
func (c *canonicalizer) digits() error {
	start := c.at
	for c.at < len(c.in) && isDigit(c.in[c.at]) {
		c.at++
	}
	if c.at == start {
		return c.unexpected()
	}
	c.out = append(c.out, c.in[start:c.at]...)
	return nil
}

// exponent reads an exponent from its letter on.
func (c *canonicalizer) exponent() (int64, error) {
	c.at++
	negative := c.peek() == '-'
	if negative || c.peek() == '+' {
		c.at++
	}
	start, written := c.at, int64(0)
	for c.at < len(c.in) && isDigit(c.in[c.at]) {
		if written < exponentCeiling {
			written = written*10 + int64(c.in[c.at]-'0')
		}
		c.at++
	}
	if c.at == start {
		return 0, c.unexpected()
	}
	if negative {
		written = -written
	}
	return written, nil
}

// trimZeros removes leading and trailing zeros from the digits that stand in
// the output from start on, and returns how many trailing ones there were.
func (c *canonicalizer) trimZeros(start int) (trailing int64) {
	end := len(c.out)
	for end > start && c.out[end-1] == '0' {
		end--
		trailing++
	}
	first := start
	for first < end && c.out[first] == '0' {
		first++
	}
	c.out = c.out[:start+copy(c.out[start:], c.out[first:end])]
	return trailing
}
