package fingerprint

import (
	"errors"
	"maps"
	"mime"
	"slices"
	"strings"
)

// media is a Content-Type or Content-Disposition as far as it counts: its name
// in lower case and its parameters (RFC 9110 section 8.3.1, RFC 2183).
type media struct {
	name   string
	params map[string]string
	// raw is the value as it came if it cannot be read; it then counts as it
	// is. If only its parameters cannot, name is still known, since the types
	// whose parameters do not count are told by the name.
	raw string
}

func parseMedia(value string) media {
	if value == "application/json" { // nearly always; spares a map
		return media{name: value}
	}
	name, params, err := mime.ParseMediaType(value)
	if charset, ok := params["charset"]; ok {
		params["charset"] = strings.ToLower(charset) // RFC 9110 section 8.3.2
	}
	switch {
	case errors.Is(err, mime.ErrInvalidMediaParameter):
		return media{name: name, raw: value}
	case err != nil:
		return media{raw: value}
	}
	return media{name: name, params: params}
}

func (m media) isJSON() bool {
	return m.name == "application/json" || strings.HasSuffix(m.name, "+json")
}

// media writes a type with its parameters sorted by name.
func (p *preimage) media(m media) {
	if m.raw != "" {
		p.text("unread")
		p.text(m.raw)
		return
	}
	p.text("read")
	p.text(m.name)
	p.count(len(m.params))
	for _, name := range slices.Sorted(maps.Keys(m.params)) {
		p.text(name)
		p.text(m.params[name])
	}
}
