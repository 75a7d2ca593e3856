package fingerprint

// Request is the meaning of an HTTP request. What counts is the method, the
// operation, the path values, the query by its decoded pairs, the header fields
// that the rule names, and the body by its type:
//
//   - no body: that alone, whatever type is declared, so that a POST without a
//     body is legal and a client may or may not label nothing
//   - application/json and any +json type (RFC 6839): as canonical JSON
//   - application/x-www-form-urlencoded: by its decoded pairs
//   - multipart/form-data: by its parts in order, without the boundary; of a
//     part count Content-Disposition with its parameters, Content-Type,
//     Content-Transfer-Encoding, and the content byte for byte
//   - anything else, also a body without a type: byte for byte
//
// The media type of a body counts, in lower case. Its parameters count only
// where the body counts byte for byte: charset=utf-8 says nothing about JSON.
//
// Decoded pairs are sorted by name; values of one name keep their order. A name
// without an equals sign has the empty value. A semicolon separates nothing
// (WHATWG URL Standard, section 5.1).
//
// Fill in the fields, then use the pointer as a [Meaning]; neither the fields
// nor what they refer to may change after that. A Request must not be copied.
type Request struct {
	// Method counts as it is: methods are case-sensitive (RFC 9110 section 9.1).
	Method string

	// Operation is the name of the operation that the route stands for.
	Operation string

	// PathValues are the wildcards of the route as name, value, name, value,
	// …, decoded, in the route's order.
	PathValues []string

	// RawQuery is the query as it came, without the question mark.
	RawQuery string

	// ContentType is the Content-Type field as it came.
	ContentType string

	// Header returns the values of a header field, whose name it is given in
	// lower case. It is called for the fields that a rule names, possibly more
	// than once. It may be nil where no rule names any.
	Header func(name string) []string

	// Body is the whole body; its size is for the caller to bound.
	Body []byte

	// Rules holds the current rule first; the others verify the records that
	// were written by them. Of two rules with one version the first counts.
	// Defaults to the single zero Rule.
	Rules []Rule

	memo memo
}

// Current is the version of the first rule.
func (r *Request) Current() Version { return versionOf(r.current().Version) }

// Raw digests the request as it came, with the header fields of the first rule.
func (r *Request) Raw() Digest { return r.memo.raw(r.raw) }

// Canonical digests the canonical form of the request under one of the rules.
// The error wraps [ErrVersion] if none has the version v, is an [*Error] if the
// query or the body has no canonical form, and is that of [Rule.Validate] if a
// pointer of the rule is at fault.
func (r *Request) Canonical(v Version) (Digest, error) {
	if v == r.Current() {
		return r.memo.canonical(v, func() (Digest, error) { return r.canonical(r.current()) })
	}
	for _, rule := range r.Rules {
		if v == versionOf(rule.Version) {
			return r.memo.canonical(v, func() (Digest, error) { return r.canonical(rule) })
		}
	}
	return Digest{}, errVersion(v)
}

func (r *Request) current() Rule {
	if len(r.Rules) == 0 {
		return Rule{}
	}
	return r.Rules[0]
}

func (r *Request) raw() Digest {
	p := begin("request raw")
	defer p.release()
	r.writeTarget(p)
	p.text(r.RawQuery)
	r.writeHeaders(p, r.current())
	p.text(r.ContentType)
	p.bytes(r.Body)
	return p.digest()
}

func (r *Request) canonical(rule Rule) (Digest, error) {
	ignore, err := rule.ignored()
	if err != nil {
		return Digest{}, err
	}
	p := begin("request")
	defer p.release()
	r.writeTarget(p)
	if err := p.pairs("query", []byte(r.RawQuery)); err != nil {
		return Digest{}, err
	}
	r.writeHeaders(p, rule)
	if err := p.body(parseMedia(r.ContentType), r.Body, ignore); err != nil {
		return Digest{}, err
	}
	return p.digest(), nil
}

func (r *Request) writeTarget(p *preimage) {
	p.text(r.Method)
	p.text(r.Operation)
	p.texts(r.PathValues)
}

func (r *Request) writeHeaders(p *preimage, rule Rule) {
	names := rule.fieldNames()
	p.count(len(names))
	for _, name := range names {
		p.text(name)
		var values []string
		if r.Header != nil {
			values = r.Header(name)
		}
		p.texts(values)
	}
}

// body writes a body by its type.
func (p *preimage) body(m media, body []byte, ignore *node) error {
	switch {
	case len(body) == 0:
		p.text("empty")
		return nil
	case m.isJSON():
		p.text("json")
		p.text(m.name)
		return p.json(body, ignore)
	case m.name == "application/x-www-form-urlencoded":
		p.text("form")
		return p.pairs("form", body)
	case m.name == "multipart/form-data":
		p.text("multipart")
		return p.multipart(body, m)
	}
	p.text("bytes")
	p.media(m)
	p.bytes(body)
	return nil
}
