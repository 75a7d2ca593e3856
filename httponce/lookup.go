package httponce

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// LookupPath is where a service serves Lookup. The key stays out of the URL, and so out of logs of URLs.
const LookupPath = "/idempotency/{operation}"

// lookup is what became of a command.
type lookup struct {
	Operation string         `json:"operation"`
	ID        string         `json:"id"`
	State     onceward.State `json:"state"`
	Status    int            `json:"status,omitempty"`
	Location  string         `json:"location,omitempty"`
	CreatedAt *time.Time     `json:"createdAt,omitempty"`
	ExpiresAt *time.Time     `json:"expiresAt,omitempty"`
}

var (
	resultAbsent = kind{
		code: "result_absent", status: http.StatusNotFound, title: "There is no such result",
		detail: "The request was not carried out, or is being carried out at this moment by another process, or its result is no longer kept. As long as results of the operation are kept, it may be sent again as it was: it is not carried out twice.",
	}
	operationUnknown = kind{
		code: "operation_unknown", status: http.StatusNotFound, title: "There is no such operation",
		detail: "The contract at " + ContractPath + " lists the operations.",
	}
	lookupMethod = kind{
		code: "method_not_allowed", status: http.StatusMethodNotAllowed, title: "The method is not allowed",
		detail: "A result is looked up with GET.",
	}
)

// Lookup serves GET on LookupPath: a caller who lost an answer learns what became of his request, without sending it again.
// The request names the operation in its path and the key in the Idempotency-Key field: the client's, the token, or what
// JSONBy makes of the business's identity (tell your clients what that is; where it is not ASCII it is sent as a Display String,
// RFC 9651 section 3.3.8). What a Window made one without a key cannot be looked up. The answer is JSON with the state
// (completed, running, expired, or issued: a token that was not submitted yet), and of a completed one the status and the
// Location that were answered; 404 with the code result_absent where there is none. Scope and Authorize are asked as they are for the operation itself, with a command
// without a meaning. A first attempt at another process cannot be seen.
func Lookup(doors ...Contracted) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead:
		case http.MethodOptions:
			w.Header()["Allow"] = []string{"GET, HEAD, OPTIONS"}
			w.WriteHeader(http.StatusNoContent)
			return
		default:
			w.Header()["Allow"] = []string{"GET, HEAD, OPTIONS"}
			lookupMethod.answer("").ServeHTTP(w, r)
			return
		}
		for _, door := range doors {
			if door.lookup(w, r) {
				return
			}
		}
		operationUnknown.answer("").ServeHTTP(w, r)
	})
}

// lookup answers r if the operation is the door's.
func (d *Door[Tx]) lookup(w http.ResponseWriter, r *http.Request) bool {
	op, by := d.named(r.PathValue("operation"))
	if op == nil {
		return false
	}
	v := enter(op, w, r)
	v.lookup, v.named = true, by
	v.ran = true // Authorize may keep the request: it is not used again
	defer d.recover(v)
	answer, err := d.find(v)
	if err != nil {
		d.refuse(v, err)
		return true
	}
	v.send(answer, v.id(), nil)
	return true
}

// named finds an operation, and whether its key is in the request's input.
func (d *Door[Tx]) named(name string) (op *onceward.Operation, by bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, op := range d.operations {
		if op.Name == name {
			return op.Operation, op.by
		}
	}
	return nil, false
}

// find asks for the record of a visit's command, once it is known who asks and that he may.
func (d *Door[Tx]) find(v *visit) (*reply, error) {
	if err := d.options.identify(v); err != nil {
		return nil, err
	}
	v.command.Meaning = nil
	record, err := d.engine.Find(v.in.Context(), v.command)
	switch {
	case err != nil:
		return nil, err
	case record == nil:
		return nil, resultAbsent.answer("")
	}
	found := lookup{Operation: record.Operation, ID: record.ID.Public(), State: record.State}
	if record.State != onceward.StateRunning {
		found.CreatedAt, found.ExpiresAt = &record.CreatedAt, &record.ExpiresAt
	}
	if record.State == onceward.StateCompleted && record.Outcome.Kind == outcomeKind {
		if err := found.read(&v.stored, record.Outcome.Data); err != nil {
			return nil, err
		}
	}
	body, _ := json.Marshal(found) // cannot fail
	answer := &reply{status: http.StatusOK, body: append(body, '\n')}
	answer.set("Content-Type", "application/json")
	answer.set("Cache-Control", "no-store")
	return answer, nil
}

// read takes from a recorded answer what a lookup tells of it: that is also there where the body was not kept.
func (l *lookup) read(s *stored, data []byte) error {
	if err := s.decode(data); err != nil {
		return err
	}
	l.Status = s.status
	for _, f := range s.fields {
		if f.name == "Location" && len(f.values) > 0 {
			l.Location = f.values[0]
		}
	}
	return nil
}
