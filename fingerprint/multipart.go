package fingerprint

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
)

// partFields are the header fields of a part that count (RFC 7578 sections
// 4.2, 4.4 and 4.7). The last is deprecated there, but changes what a reader
// of the part gets to see.
var partFields = []string{"Content-Disposition", "Content-Type", "Content-Transfer-Encoding"}

// multipart writes the parts of a multipart/form-data body (RFC 7578) in their
// order. It reads them with the package that handlers use: what a handler sees
// as two forms must not be one meaning.
func (p *preimage) multipart(body []byte, m media) error {
	boundary := m.params["boundary"]
	if boundary == "" {
		return &Error{Part: "content type", Fault: "no readable boundary"}
	}
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	for n := 0; ; n++ {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			p.count(0)
			return nil
		}
		if err == nil {
			p.count(1) // one more follows
			err = p.part(part)
		}
		if err != nil {
			return &Error{Part: "multipart", Fault: partFault(err), Offset: partOffset(body, boundary, n)}
		}
	}
}

func (p *preimage) part(part *multipart.Part) error {
	for _, field := range partFields {
		values := part.Header.Values(field)
		p.count(len(values))
		for _, value := range values {
			p.media(parseMedia(value))
		}
	}
	content, err := io.ReadAll(part)
	p.bytes(content)
	return err
}

// partFault is a fixed phrase: the error's own text may repeat the input.
func partFault(err error) string {
	if errors.Is(err, multipart.ErrMessageTooLarge) {
		return "part with too large a header"
	}
	return "part without a proper header or end"
}

// partOffset finds where part n, counted from 0, begins: at its boundary, or at
// the end if there is none.
func partOffset(body []byte, boundary string, n int) int {
	delimiter := []byte("--" + boundary)
	offset := 0
	for {
		i := bytes.Index(body[offset:], delimiter)
		if i < 0 {
			return len(body)
		}
		offset += i
		if n == 0 {
			return offset
		}
		n--
		offset += len(delimiter)
	}
}
