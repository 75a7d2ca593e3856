package shop

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// createExport is POST /exports (R3.5). Two requests for the same report within five seconds are one; whoever brings a key
// means a report of his own (F40).
var createExport = &onceward.Operation{Name: "create-export.v1", Window: 5 * time.Second, Retention: 24 * time.Hour, Wait: time.Second}

// The states of an export.
const (
	exportRunning   = "running"
	exportCompleted = "completed"
	exportFailed    = "failed"
)

var (
	errNoExport = refuse(http.StatusNotFound, "export_unknown", "There is no such export", "The tenant has no export of this id.")
	errNoFile   = refuse(http.StatusConflict, "export_not_completed", "The export has no file yet",
		"GET /exports/{id} tells when it is completed, or that it has failed.")
)

var (
	reportForm = regexp.MustCompile(`^orders$`)
	monthForm  = regexp.MustCompile(`^2[0-9]{3}-(0[1-9]|1[0-2])$`)
	formatForm = regexp.MustCompile(`^csv$`)
)

// export is the body of POST /exports.
type export struct {
	report, month, format string
}

// UnmarshalJSON refuses what asks for no report, and names what is wrong.
func (e *export) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	e.report = body.text("report", reportForm, `"orders"`)
	e.month = body.text("month", monthForm, `a month such as "2026-12"`)
	e.format = body.text("format", formatForm, `"csv"`)
	return body.err()
}

// exportAnswer is how an export is shown.
type exportAnswer struct {
	ID       string `json:"id"`
	State    string `json:"state"`
	Progress int64  `json:"progress"` // percent
	File     string `json:"file,omitempty"`
}

// exportOnce is the work of POST /exports: it writes down what is to be done. That is committed with the answer, so that
// no answer names an export that nobody will write.
func (s *service[Tx]) exportOnce(ctx context.Context, tx Tx, in export) (*httponce.Answer, error) {
	caller := httponce.CallFrom(ctx).Scope
	id, err := newID()
	if err != nil {
		return nil, err
	}
	_, err = s.db.Insert(ctx, tx, "exports", "id, tenant, principal, report, month, format, state, total, written, chunk",
		id, caller.Tenant, caller.Principal, in.report, in.month, in.format, exportRunning, 0, 0, 0)
	if err != nil {
		return nil, err
	}
	return &httponce.Answer{
		Status: http.StatusAccepted, Location: "/exports/" + id,
		Body: exportAnswer{ID: id, State: exportRunning},
	}, nil
}

// woken tells the worker that there may be something to do, once next has answered.
func (s *service[Tx]) woken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		select {
		case s.wake <- struct{}{}:
		default: // it has been told already
		}
	})
}

// getExport answers GET /exports/{id}.
func (s *service[Tx]) getExport(w http.ResponseWriter, r *http.Request, caller onceward.Scope) error {
	answer, err := s.findExport(r.Context(), caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	switch answer.State {
	case exportRunning:
		w.Header().Set("Retry-After", "1")
	case exportCompleted:
		answer.File = "/exports/" + answer.ID + "/file"
	}
	writeJSON(w, http.StatusOK, "application/json", answer)
	return nil
}

func (s *service[Tx]) findExport(ctx context.Context, caller onceward.Scope, id string) (*exportAnswer, error) {
	var found *exportAnswer
	if !uuidForm.MatchString(id) {
		return nil, errNoExport
	}
	err := s.db.Read(ctx, func(row Scanner) error {
		var total, written int64
		found = &exportAnswer{ID: id}
		err := row.Scan(&found.State, &total, &written)
		if found.State == exportCompleted {
			found.Progress = 100
		} else if total > 0 {
			found.Progress = min(99, written*100/total)
		}
		return err
	}, `SELECT state, total, written FROM exports WHERE tenant = ? AND id = ?`, caller.Tenant, id)
	if err == nil && found == nil {
		err = errNoExport
	}
	return found, err
}

// getFile answers GET /exports/{id}/file.
func (s *service[Tx]) getFile(w http.ResponseWriter, r *http.Request, caller onceward.Scope) error {
	answer, err := s.findExport(r.Context(), caller, r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case answer.State != exportCompleted:
		return errNoFile
	}
	begun := false
	err = s.db.Read(r.Context(), func(row Scanner) error {
		var data string
		if err := row.Scan(&data); err != nil {
			return err
		}
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
			w.Header().Set("Content-Disposition", `attachment; filename="orders.csv"`)
		}
		_, err := w.Write([]byte(data))
		return err
	}, `SELECT data FROM export_chunks WHERE export_id = ? ORDER BY chunk`, answer.ID)
	if err != nil && begun {
		panic(http.ErrAbortHandler) // half a file must not look like one
	}
	return err
}

// idsOf are the bounds of the ids of a month's orders: the ids' first 48 bits are the time in milliseconds (RFC 9562
// section 5.7). From is the first that there could be, until the first of the next month.
func idsOf(month string) (from, until uuid.UUID, err error) {
	begin, err := time.Parse("2006-01", month)
	return firstID(begin), firstID(begin.AddDate(0, 1, 0)), err
}

func firstID(at time.Time) (id uuid.UUID) {
	milliseconds := at.UnixMilli()
	for i := range 6 {
		id[i] = byte(milliseconds >> (40 - 8*i))
	}
	id[6], id[8] = 0x70, 0x80
	return id
}

// cell keeps a spreadsheet from taking a text for a formula.
func cell(text string) string {
	if strings.ContainsAny(text[:min(1, len(text))], "=+-@\t\r") {
		return "'" + text
	}
	return text
}
