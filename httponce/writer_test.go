package httponce

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// fieldsOf is what is kept of a header that h makes, by name.
func fieldsOf(t *testing.T, outer http.Header, h func(w http.ResponseWriter)) map[string][]string {
	t.Helper()
	w := newHeld(outer, 100)
	h(w)
	p, err := w.reply()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, f := range p.fields {
		got[f.name] = f.values
	}
	return got
}

func TestGuessedTypeIsKeptWithTheBytes(t *testing.T) {
	t.Parallel()
	got := fieldsOf(t, nil, func(w http.ResponseWriter) { io.WriteString(w, "<html>") })
	if !slices.Equal(got["Content-Type"], []string{"text/html; charset=utf-8"}) {
		t.Errorf("kept %v", got)
	}
	for name, h := range map[string]func(w http.ResponseWriter){
		"no body":     func(w http.ResponseWriter) { w.WriteHeader(200) },
		"coded bytes": func(w http.ResponseWriter) { w.Header().Set("Content-Encoding", "br"); io.WriteString(w, "<html>") },
		"suppressed":  func(w http.ResponseWriter) { w.Header()["Content-Type"] = nil; io.WriteString(w, "<html>") },
	} {
		if got := fieldsOf(t, nil, h); len(got["Content-Type"]) > 0 {
			t.Errorf("%s: kept %v", name, got)
		}
	}
}

func TestFramingIsTheDoorsToSay(t *testing.T) {
	t.Parallel()
	got := fieldsOf(t, nil, func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "5")
		w.Header().Set("Transfer-Encoding", "chunked")
		w.WriteHeader(204)
	})
	if len(got) > 0 {
		t.Errorf("kept %v", got)
	}
	for status, want := range map[int]string{200: "0", 204: "", 304: ""} {
		w := httptest.NewRecorder()
		(&reply{status: status}).send(w, "", nil)
		if got := w.Header().Get("Content-Length"); got != want {
			t.Errorf("%d is sent with Content-Length %q", status, got)
		}
	}
}

// A handler that changes what it found does not change it for others.
func TestOuterHeaderIsNotWrittenBeforeTheCommit(t *testing.T) {
	t.Parallel()
	outer := http.Header{"Vary": append(make([]string, 0, 4), "Origin"), "X-Frame": {"deny"}}
	got := fieldsOf(t, outer, func(w http.ResponseWriter) {
		w.Header().Add("Vary", "Accept")
		w.Header().Set("X-Frame", "allow")
		w.Header().Set("Etag", "1")
	})
	if fmt.Sprint(outer) != "map[Vary:[Origin] X-Frame:[deny]]" || outer["Vary"][:2][1] != "" {
		t.Errorf("the response has %v before the commit", outer)
	}
	if fmt.Sprint(got) != "map[Etag:[1] Vary:[Accept] X-Frame:[allow]]" {
		t.Errorf("kept %v", got)
	}
}

// A deploy may put outside what was recorded inside.
func TestAddedValueIsNotDoubled(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	w.Header().Set("Link", "</a>")
	p := &reply{status: 200, fields: []field{{name: "Link", values: []string{"</a>", "</b>"}, added: true}}}
	p.send(w, "", nil)
	if got := w.Header().Values("Link"); !slices.Equal(got, []string{"</a>", "</b>"}) {
		t.Errorf("sent %q", got)
	}
}

func TestInvalidStatusPanicsAsInNetHTTP(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("WriteHeader(99) did not panic")
		}
	}()
	newHeld(nil, 100).WriteHeader(99)
}
