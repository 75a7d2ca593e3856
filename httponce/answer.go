package httponce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Answer is what a handler answers. It is also an error, so that a handler, Scope, Authorize and Failure can return it as
// one. It must not be changed once it was returned.
type Answer struct {
	// Status is the status code. Defaults to 200.
	Status int
	// Location is the Location field. Defaults to none.
	Location string
	// Header holds further fields. Defaults to none.
	Header http.Header
	// Body is sent as JSON; a Problem, or the text of a refusal, as application/problem+json; a []byte as it is, under the
	// Content-Type of Header. Defaults to nil: no body.
	Body any
	// Final commits and records an answer of any status. 2xx and 3xx are final without it, unless made by Refuse.
	Final bool
	// Secret keeps the body out of the record, for a token that is shown once: a retry gets the 410 problem
	// answer_not_stored and the work is not run again.
	Secret bool

	refused bool
}

// Error names the status; it says nothing of the body.
func (a *Answer) Error() string { return fmt.Sprintf("httponce: answered with %d", a.Status) }

// Created answers 201 with the new resource's place and itself: committed, recorded, replayed.
func Created(location string, body any) *Answer {
	return &Answer{Status: http.StatusCreated, Location: location, Body: body, Final: true}
}

// OK answers 200: committed, recorded, replayed.
func OK(body any) *Answer { return &Answer{Status: http.StatusOK, Body: body, Final: true} }

// Refuse answers with any status and rolls the work back: nothing is recorded, and the key may be used again. A text as
// body becomes the detail of a problem.
func Refuse(status int, body any) *Answer { return &Answer{Status: status, Body: body, refused: true} }

// Conclude answers with any status and is final: the work is committed, and a retry gets the same answer. It is for a
// refusal that must stand, such as a declined payment.
func Conclude(status int, body any) *Answer { return &Answer{Status: status, Body: body, Final: true} }

// ServeHTTP sends a where there is no door, so that the reads beside it answer alike. What cannot be sent is a 500.
func (a *Answer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p, err := a.render(nil)
	if err != nil {
		p, _ = internal.answer("").render(nil) // cannot fail: it is a constant
	}
	p.send(w, "", nil)
}

func (a *Answer) status() int { return orDefault(a.Status, http.StatusOK) }

// final reports whether the work is to be committed and the answer recorded.
func (a *Answer) final() bool { return !a.refused && (a.Final || a.status() < 400) }

// render makes the bytes of a; id is asked for the public id, or nil.
func (a *Answer) render(id func() string) (*reply, error) {
	status := a.status()
	if status < 200 || status > 999 {
		return nil, fmt.Errorf("httponce: an Answer cannot have the status %d", status)
	}
	p := &reply{status: status, final: a.final(), secret: a.Secret, fields: make([]field, 0, 2+len(a.Header))}
	var err error
	if bodyAllowed(status) {
		if p.body, err = a.renderBody(p, id); err != nil {
			return nil, err
		}
	}
	if a.Location != "" {
		p.set("Location", a.Location)
	}
	for name, values := range a.Header {
		name = http.CanonicalHeaderKey(name)
		p.fields = append(p.fields, field{name: name, values: values, added: isList(name)})
	}
	return p, nil
}

func (a *Answer) renderBody(p *reply, id func() string) ([]byte, error) {
	body := a.Body
	if text, ok := body.(string); ok && a.status() >= 400 {
		body = Problem{Detail: text}
	}
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		if len(b) > 0 && a.Header.Get("Content-Type") == "" {
			p.set("Content-Type", http.DetectContentType(b))
		}
		return b, nil
	case *Problem:
		body = b.filled(p, id)
	case Problem:
		body = b.filled(p, id)
	default:
		p.set("Content-Type", "application/json")
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("httponce: the answer's body: %w", err)
	}
	return append(data, '\n'), nil
}

// filled completes p for an answer.
func (p Problem) filled(answer *reply, id func() string) Problem {
	p.Status = answer.status
	p.Title = orDefault(p.Title, http.StatusText(answer.status))
	if p.ID == "" && id != nil {
		p.ID = id()
	}
	answer.set("Content-Type", "application/problem+json")
	if strings.HasPrefix(p.Type, ProblemBase) {
		answer.fields = append(answer.fields, field{name: "Link", values: contractLink, added: true})
	}
	return p
}

// isList tells the fields that an outer middleware may set as well, for a reason of its own.
func isList(name string) bool { return name == "Link" || name == "Set-Cookie" || name == "Vary" }

var contractLink = []string{"<" + ContractPath + `>; rel="describedby"`}

// bodyAllowed reports whether an answer with this status has a body (RFC 9110 section 6.4.1).
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
