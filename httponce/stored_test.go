package httponce

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func storedFor(t testing.TB, o Options, p *reply) []byte {
	t.Helper()
	o = o.withDefaults()
	return o.store(p, o.storedFields())
}

var storedAnswers = []*reply{
	{status: 204},
	{status: 201, body: []byte("{}\n"), fields: []field{{name: "Content-Type", values: []string{"application/json"}}, {name: "Location", values: []string{"/orders/1"}}}},
	{status: 200, body: []byte{0, 1, 2}, fields: []field{{name: "Content-Type"}}},
	{status: 303, fields: []field{{name: "Link", values: []string{"</a>", "</b>"}, added: true}, {name: "Etag", values: []string{""}}}},
	{status: 999, body: bytes.Repeat([]byte("x"), 100_000)},
	{status: 200, fields: []field{{name: "Location", values: make([]string, 1000)}}},
}

func TestStoredAnswerIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, p := range storedAnswers {
		var got stored
		if err := got.decode(storedFor(t, Options{}, p)); err != nil {
			t.Fatalf("%d: %v", p.status, err)
		}
		if got.status != p.status || !bytes.Equal(got.body, p.body) || len(got.fields) != len(p.fields) || got.tombstone {
			t.Errorf("%d: read %d, %d bytes, %v", p.status, got.status, len(got.body), got.fields)
		}
		for _, f := range p.fields {
			if !containsField(got.fields, f) {
				t.Errorf("%d: %v is not in %v", p.status, f, got.fields)
			}
		}
	}
}

func containsField(fields []field, want field) bool {
	for _, f := range fields {
		if reflect.DeepEqual(f, want) {
			return true
		}
	}
	return false
}

func TestOnlyTheListedFieldsAreStored(t *testing.T) {
	t.Parallel()
	p := &reply{status: 200}
	for _, name := range []string{"Content-Type", "Set-Cookie", "Access-Control-Allow-Origin", "Date", "Connection", "Vary", "X-Own", "X-Other"} {
		p.set(name, name)
	}
	var got stored
	if err := got.decode(storedFor(t, Options{Headers: []string{"x-own"}}, p)); err != nil {
		t.Fatal(err)
	}
	if len(got.fields) != 2 || got.fields[0].name != "Content-Type" || got.fields[1].name != "X-Own" {
		t.Errorf("stored %v", got.fields)
	}
}

func TestDamagedAndNewerRecordsAreRefused(t *testing.T) {
	t.Parallel()
	good := storedFor(t, Options{}, storedAnswers[1])
	newer := append([]byte{storedVersion + 1}, good[1:]...)
	if err := new(stored).decode(newer); !errors.Is(err, errNewer) {
		t.Errorf("a newer record: %v", err)
	}
	for n := range len(good) - len(storedAnswers[1].body) {
		if err := new(stored).decode(good[:n]); !errors.Is(err, errDamaged) {
			t.Errorf("%d bytes of it: %v", n, err)
		}
	}
	for name, b := range map[string][]byte{
		"unknown flag":    append([]byte{storedVersion, 2}, good[2:]...),
		"status 100":      {storedVersion, 0, 100, 1, 0},
		"forbidden field": appendStored(0, 200, appendFields(nil, []field{{name: "Set-Cookie", values: []string{"a"}}}, []string{"Set-Cookie"}), nil),
		"too many values": {storedVersion, 0, 0xc8, 1, 7, 0, 1, 'A', 0, 1, 1, 'b'},
		"too few values":  {storedVersion, 0, 0xc8, 1, 7, 2, 1, 'A', 0, 1, 1, 'b'},
	} {
		if err := new(stored).decode(b); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzAnswer checks that any bytes are either refused or an answer that can be sent, which written again is itself.
func FuzzAnswer(f *testing.F) {
	for _, p := range storedAnswers[:4] {
		f.Add(storedFor(f, Options{}, p))
		f.Add(storedFor(f, Options{StoredBytesMax: 1}, p))
	}
	f.Add([]byte{storedVersion, 0, 0xc8, 1, 5, 0xff, 0xff, 0xff, 0xff, 0xf})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s stored
		if err := s.decode(b); err != nil {
			if !errors.Is(err, errNewer) && !errors.Is(err, errDamaged) {
				t.Errorf("%v", err)
			}
			return
		}
		var names []string
		for _, f := range s.fields {
			if forbidden(f.name) || f.name != http.CanonicalHeaderKey(f.name) {
				t.Errorf("field %q", f.name)
			}
			if len(names) == 0 || names[len(names)-1] != f.name {
				names = append(names, f.name)
			}
		}
		s.send(discard{http.Header{}}, "id", nil)
		if len(names) != len(s.fields) || hasTwice(names) {
			return // fields that store does not write
		}
		var again stored
		if err := again.decode(appendStored(b[1], s.status, appendFields(nil, s.fields, names), s.body)); err != nil || !reflect.DeepEqual(again.reply, s.reply) {
			t.Errorf("%v: %v is read as %v", err, s.reply, again.reply)
		}
	})
}

func hasTwice(names []string) bool {
	all := strings.Join(names, "\n") + "\n"
	for _, name := range names {
		if strings.Count("\n"+all, "\n"+name+"\n") > 1 {
			return true
		}
	}
	return false
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) WriteHeader(int)             {}
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
