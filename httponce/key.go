package httponce

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"

	"github.com/onceward/onceward"
)

// HeaderKey is the request field that carries the key.
const HeaderKey = "Idempotency-Key"

// key reads the request's key: none where the operation's window makes one of the meaning. Its error is an *Answer.
func (o *Options) key(v *visit) (string, error) {
	lines := v.in.Header[HeaderKey]
	switch {
	case v.lookup:
		return o.lookupKey(lines, v.named)
	case len(lines) > 0:
	case v.command.Operation.Window > 0:
		return "", nil
	case o.Optional:
		return rand.Text(), nil
	}
	return ParseKey(lines, o.Strict, o.KeyBytesMax)
}

// lookupKey reads the key of a command that is looked up. One that the service made of its request may be longer than a
// client's, and may have any characters: it can be sent as a Display String (RFC 9651 section 3.3.8) as well.
func (o *Options) lookupKey(lines []string, named bool) (string, error) {
	switch {
	case len(lines) == 0:
		return "", keyMissing.answer("Send in the Idempotency-Key field what names the action: the key, the token, or what the service makes of a number.")
	case !named:
		return ParseKey(lines, o.Strict, o.KeyBytesMax)
	}
	if text, ok := strings.CutPrefix(strings.Trim(lines[0], " \t"), `%"`); ok && len(lines) == 1 && len(text) <= 3*onceward.KeyBytesMax+1 {
		return parseDisplay(text)
	}
	return ParseKey(lines, o.Strict, onceward.KeyBytesMax)
}

// parseDisplay reads a Display String after its opening quote.
func parseDisplay(text string) (string, error) {
	text, closed := strings.CutSuffix(text, `"`)
	key, err := url.PathUnescape(text)
	if err != nil || !closed || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' }) {
		return "", keyMalformed.answer("")
	}
	return key, nil
}

// ParseKey reads the lines of a field that carries a key, for the door of another protocol: one line with a key of at most
// bytesMax bytes, in quotes or, unless strict, without. The error is an *Answer whose Body is a Problem; it repeats
// nothing of the lines.
func ParseKey(lines []string, strict bool, bytesMax int) (string, error) {
	switch {
	case len(lines) == 0:
		return "", keyMissing.answer("")
	case len(lines) > 1:
		return "", keyRepeated.answer("")
	}
	key, fault := parseKey(lines[0], strict)
	switch {
	case fault == faultRepeated:
		return "", keyRepeated.answer("")
	case fault != "":
		return "", keyMalformed.answer("The Idempotency-Key " + fault + keyAdvice)
	case len(key) > bytesMax:
		return "", keyTooLong.answer(fmt.Sprintf("Send an Idempotency-Key of at most %d bytes.", bytesMax))
	}
	return key, nil
}

const (
	faultRepeated = "holds more than one member"
	keyAdvice     = `. Send one quoted string of visible ASCII characters, for example "8e03978e-40d5-43dd-bc93-6894a57f9324".`
)

// parseKey reads a field value: a String (RFC 9651 section 3.3.3), or, unless strict, the same characters without quotes.
// The fault completes the sentence "the key …"; it repeats nothing of the value.
//
// A String's parameters would be legal, but no specification gives one a meaning, and two keys that differ in them alone
// are more likely a fault of the client than one key: they are refused.
func parseKey(value string, strict bool) (key, fault string) {
	value = strings.Trim(value, " \t")
	switch {
	case value == "":
		return "", "is blank"
	case value[0] == '"':
		key, fault = parseQuoted(value[1:])
	case strict:
		return "", "is not a quoted string"
	default:
		key, fault = parseBare(value)
	}
	switch {
	case fault != "":
		return "", fault
	case strings.Trim(key, " ") == "":
		return "", "is blank"
	}
	return key, ""
}

// parseQuoted reads a String after its opening quote. It copies only where there are escapes.
func parseQuoted(value string) (key, fault string) {
	var unescaped []byte
	from := 0 // of what is not yet in unescaped; 0 only before the first escape
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			if key = value[:i]; from > 0 {
				key = string(append(unescaped, value[from:i]...))
			}
			return key, afterQuoted(value[i+1:])
		case c == '\\':
			if i+1 == len(value) || value[i+1] != '"' && value[i+1] != '\\' {
				return "", "holds a backslash that escapes neither a quote nor a backslash"
			}
			unescaped = append(unescaped, value[from:i]...)
			i++
			from = i
		case c < ' ' || c > '~':
			return "", "holds a character that is not printable ASCII"
		}
	}
	return "", "begins with a quote and has no closing one"
}

func afterQuoted(rest string) (fault string) {
	switch rest = strings.TrimLeft(rest, " \t"); {
	case rest == "":
		return ""
	case rest[0] == ',':
		return faultRepeated
	}
	return "has characters after its closing quote"
}

func parseBare(value string) (key, fault string) {
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == ',':
			return "", faultRepeated
		case c == ' ' || c == '\t' || c == '"' || c == '\\' || c == ';':
			return "", "holds a blank, a quote, a backslash or a semicolon outside quotes"
		case c < ' ' || c > '~':
			return "", "holds a character that is not printable ASCII"
		}
	}
	return value, ""
}
