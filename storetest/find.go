package storetest

import (
	"testing"
	"time"

	"github.com/onceward/onceward"
)

func findTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "a record is found as it was saved", run: findsRecord[Tx]},
		{name: "nothing is found where nothing was saved", run: findsNothing[Tx]},
		{name: "an expired record is found as expired", run: findsExpired[Tx]},
		{name: "an uncommitted attempt is found only in its own process", run: findsRunning[Tx]},
	}
}

func find[Tx any](t testing.TB, e *onceward.Engine[Tx], c onceward.Command) *onceward.Record {
	t.Helper()
	record, err := e.Find(t.Context(), c)
	if err != nil {
		t.Fatalf("Find: %v", err)
	}
	return record
}

func findsRecord[Tx any](t *testing.T, f *fixture[Tx]) {
	c := with(hasty, func(o *onceward.Operation) { o.RefuseExpired = 2 * time.Hour }).For(alice, "k", "two books")
	result := must(t, f.engine(t), c, f.writes("k", "accepted"))
	r := find(t, f.engine(t), c)
	if r == nil {
		t.Fatal("no record was found")
	}
	if r.ID.Public() != result.ID || r.Operation != hasty.Name || r.Scope != alice || r.Key != "k" || r.State != onceward.StateCompleted {
		t.Errorf("the record is %s %s %v %q %s", r.ID.Public(), r.Operation, r.Scope, r.Key, r.State)
	}
	wantAnswer(t, onceward.Result{Outcome: r.Outcome}, "accepted", false)
	if r.Life <= 0 || r.Life > time.Hour || r.ExpiresAt.Sub(r.CreatedAt).Round(time.Second) != time.Hour {
		t.Errorf("of a retention of 1h %v are left (created %v, expires %v)", r.Life, r.CreatedAt, r.ExpiresAt)
	}
	if r.Attempt == (onceward.Token{}) || r.Fingerprint.Version == 0 {
		t.Errorf("the attempt is %x, the fingerprint's version %d", r.Attempt, r.Fingerprint.Version)
	}
}

func findsNothing[Tx any](t *testing.T, f *fixture[Tx]) {
	e := f.engine(t)
	if r := find(t, e, hasty.For(alice, "k", nil)); r != nil {
		t.Errorf("found %+v", r)
	}
	f.runs(t, hasty.For(alice, "k", nil), "k", "accepted")
	if r := find(t, e, hasty.For(alice, "another", nil)); r != nil {
		t.Errorf("found %+v", r)
	}
}

func findsExpired[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "accepted")
	f.Age(t, 2*time.Hour)
	switch r := find(t, f.engine(t), c); {
	case r == nil:
		t.Error("no record was found")
	case r.State != onceward.StateExpired || r.Life > -50*time.Minute:
		t.Errorf("the record is %s with %v left", r.State, r.Life)
	}
}

func findsRunning[Tx any](t *testing.T, f *fixture[Tx]) {
	c, e := hasty.For(alice, "k", nil), f.engine(t)
	h := hold(t, f, e, c, "k", "accepted")
	if r := find(t, e, c); r == nil || r.State != onceward.StateRunning {
		t.Errorf("in its own process the attempt is found as %+v", r)
	}
	if r := find(t, f.engine(t), c); r != nil {
		t.Errorf("in another process the uncommitted attempt is found as %+v", r)
	}
	if r := h.end(nil); r.err != nil {
		t.Fatal(r.err)
	}
	if r := find(t, e, c); r == nil || r.State != onceward.StateCompleted {
		t.Errorf("after the commit the record is %+v", r)
	}
}
