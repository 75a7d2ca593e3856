package conform

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// recorded are the fields that a replay has from the first answer.
var recorded = []string{
	"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Content-Location", "Location", "Etag",
	"Last-Modified", "Cache-Control", "Content-Length",
}

// answer is what the service said.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a *answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

// compare says where an answer is not as the step wants it.
func (r *run) compare(s Step, a *answer, err error) error {
	if err != nil {
		return err
	}
	if s.Name != "" {
		r.answers[s.Name] = a
	}
	for _, fault := range []string{
		r.statusFault(s.Want, a), markerFault(s.Want.Marker, a), r.sameFault(s.Want.Same, a), r.headerFault(s.Want.Header, a), bodyFault(s.Want.Body, a),
	} {
		if fault != "" {
			return fmt.Errorf("answered %d %.300q: %s", a.status, a.body, fault)
		}
	}
	return nil
}

func (r *run) statusFault(w Want, a *answer) string {
	switch {
	case w.Problem != "":
		return r.problemFault(w.Problem, a)
	case a.status != w.Status:
		return fmt.Sprintf("the status is %d, want %d", a.status, w.Status)
	}
	return ""
}

// problemFault compares an answer with the problem of a code. It says nothing of the request that it refuses.
func (r *run) problemFault(code string, a *answer) string {
	var p struct {
		Type, Title, Detail, Code string
		Status                    int
	}
	err := json.Unmarshal([]byte(a.body), &p)
	want := r.target.status(code)
	switch {
	case a.status != want || p.Status != want:
		return fmt.Sprintf("the status is %d, in the problem %d, want %d for %s", a.status, p.Status, want, code)
	case a.header.Get("Content-Type") != "application/problem+json":
		return fmt.Sprintf("the type is %q, want a problem", a.header.Get("Content-Type"))
	case err != nil || p.Code != code:
		return fmt.Sprintf("the code is %q, want %q", p.Code, code)
	case p.Type == "" || p.Title == "" || p.Detail == "":
		return "the problem lacks its type, its title or its detail"
	case strings.Contains(a.body, r.ref) || strings.Contains(a.body, r.key):
		return "the problem repeats the key, or what it stands for"
	}
	return ""
}

func markerFault(want Marker, a *answer) string {
	lines := a.header.Values("Idempotent-Replayed")
	switch {
	case want == Fresh && len(lines) > 0:
		return fmt.Sprintf("it is marked as a replay: %q", lines)
	case want == Replayed && !slices.Equal(lines, []string{"true"}):
		return fmt.Sprintf("Idempotent-Replayed is %q, want true", lines)
	}
	return ""
}

func (r *run) sameFault(name string, a *answer) string {
	first := r.answers[name]
	switch {
	case name == "":
		return ""
	case first == nil:
		return fmt.Sprintf("no step is called %q", name)
	case a.status != first.status || a.body != first.body:
		return fmt.Sprintf("it is not %s: %d %.300q", name, first.status, first.body)
	}
	for _, field := range recorded {
		if !slices.Equal(a.header[field], first.header[field]) {
			return fmt.Sprintf("%s is %q, in %s %q", field, a.header[field], name, first.header[field])
		}
	}
	return ""
}

func (r *run) headerFault(want map[string]string, a *answer) string {
	for field, value := range want {
		if name, ok := strings.CutPrefix(value, "{"+field+" of "); ok {
			value = r.answers[strings.TrimSuffix(name, "}")].header.Get(field)
		}
		lines := a.header.Values(field)
		switch {
		case value == "" && len(lines) > 0:
			return fmt.Sprintf("it has %s: %q", field, lines)
		case value == "*" && (len(lines) != 1 || lines[0] == ""), value != "" && value != "*" && !slices.Equal(lines, []string{value}):
			return fmt.Sprintf("%s is %q, want %q", field, lines, value)
		}
	}
	return ""
}

func bodyFault(part string, a *answer) string {
	if !strings.Contains(a.body, part) {
		return fmt.Sprintf("the body lacks %q", part)
	}
	return ""
}
