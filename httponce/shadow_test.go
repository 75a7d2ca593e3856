package httponce_test

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// B17: adopted in shadow mode, the door refuses nobody for his key, and replays nothing.
func TestB17_ShadowRefusesNobody(t *testing.T) {
	t.Parallel()
	shadow := &onceward.Shadow{}
	s := newService(t, setup{engine: onceward.Options{Shadow: shadow}})
	s.orders(&onceward.Operation{Name: "create-order.v1", Retention: time.Hour})
	answers := map[string]bool{}
	for _, a := range []reply{
		s.post("k", book), s.post("k", book), s.post("k", other), s.keyless(book), s.post(" ", book), s.post(`"open`, book),
	} {
		a.want(t, 201, "")
		answers[a.body] = true
		if a.replayed() {
			t.Errorf("%s was replayed", a.body)
		}
	}
	s.post("k", "{").want(t, 400, "body_invalid") // as without onceward
	if len(answers) != 6 {
		t.Errorf("%d different answers, want 6", len(answers))
	}
	s.wantRows(6)
	want := onceward.ShadowCount{Operation: "create-order.v1", Commands: 7, Duplicates: 1, Reused: 1, NoKey: 3, NoMeaning: 1}
	if got := shadow.Report(); len(got) != 1 || got[0] != want {
		t.Errorf("the report is %+v, want %+v:\n%s", got, want, shadow)
	}
}
