package httponce

import (
	"net/http"
	"strings"
)

var (
	preconditionFailed = kind{
		code: "precondition_failed", status: http.StatusPreconditionFailed, title: "The resource has changed",
		detail: "Its ETag is none of those in If-Match; nothing was changed. Read it again, and decide again.",
	}
	preconditionMalformed = kind{
		code: "precondition_malformed", status: http.StatusBadRequest, title: "The If-Match is malformed",
		detail: `Send an ETag as it was answered, in its quotes, several apart by commas, or *.`,
	}
)

// IfMatch tells whether a request may change a resource whose present entity tag is etag, in its quotes (empty where there
// is no resource). It is for setting a value to a target, which may be repeated but must not undo what another has set since.
// A request without the field may. The error is an *Answer: 412 where no tag matches, 400 where the field is malformed.
// Tags are compared strongly: a weak one never matches (RFC 9110 section 13.1.1). Ask it in the transaction that changes
// the resource, once its row is locked.
func IfMatch(r *http.Request, etag string) error {
	lines := r.Header["If-Match"]
	if len(lines) == 0 {
		return nil
	}
	field := strings.Trim(strings.Join(lines, ","), " \t")
	if field == "*" {
		return matched(etag != "")
	}
	found, tags := false, 0
	for field != "" {
		tag, rest, ok := entityTag(field)
		if !ok {
			return preconditionMalformed.answer("")
		}
		found = found || tag == etag && strings.HasPrefix(tag, `"`) // no weak one
		if tag != "" {
			tags++
		}
		field = rest
	}
	if tags == 0 {
		return preconditionMalformed.answer("")
	}
	return matched(found)
}

func matched(ok bool) error {
	if ok {
		return nil
	}
	return preconditionFailed.answer("")
}

// entityTag takes the first member of a list of tags: empty where two commas meet, which a list may have.
func entityTag(field string) (tag, rest string, ok bool) {
	end := 0
	switch {
	case strings.HasPrefix(field, `W/"`):
		end = 3
	case strings.HasPrefix(field, `"`):
		end = 1
	}
	if end > 0 {
		for end < len(field) && (field[end] == '!' || field[end] > '"' && field[end] != 0x7f) {
			end++
		}
		if end == len(field) || field[end] != '"' {
			return "", "", false
		}
		end++
	}
	rest = strings.TrimLeft(field[end:], " \t")
	if rest == "" {
		return field[:end], "", end > 0
	}
	if rest[0] != ',' {
		return "", "", false
	}
	return field[:end], strings.TrimLeft(rest[1:], " \t"), true
}
