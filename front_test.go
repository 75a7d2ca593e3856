package onceward_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

var errFront = errors.New("the front is broken")

// scripted is a front that says what a test wants, and notes what it is told.
type scripted struct {
	record *onceward.Record
	holder *fingerprint.Fingerprint
	err    error

	claims int
	left   []*onceward.Record // what Leave was called with
}

func (s *scripted) Claim(context.Context, *onceward.Record) (*onceward.Record, *fingerprint.Fingerprint, error) {
	s.claims++
	return s.record, s.holder, s.err
}

func (s *scripted) Leave(ctx context.Context, _, saved *onceward.Record) error {
	s.left = append(s.left, saved)
	return errors.Join(s.err, ctx.Err())
}

// meant is the fingerprint of a meaning.
func meant(t *testing.T, meaning string) *fingerprint.Fingerprint {
	t.Helper()
	f, err := fingerprint.Of(fingerprint.Bytes([]byte(meaning)))
	if err != nil {
		t.Fatal(err)
	}
	return &fingerprint.Fingerprint{Version: f.Version, Canonical: f.Canonical} // the raw digest is not told
}

// standing is a record of a command as a front would give it.
func standing(t *testing.T, key, meaning, answer string) *onceward.Record {
	t.Helper()
	e := newEngine(t, newProbe(), onceward.Options{})
	c := hasty.For(alice, key, meaning)
	do(t.Context(), e, c, says(answer)).wants(t, answer, false)
	record, err := e.Find(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestFrontAnswersWithoutTheStore(t *testing.T) {
	store := newProbe()
	front := &scripted{record: standing(t, "k", "two books", "accepted")}
	e := newEngine(t, store, onceward.Options{Front: front})
	do(t.Context(), e, hasty.For(alice, "k", "three books"), never(t)).fails(t, onceward.ErrKeyReused)
	for range 3 {
		do(t.Context(), e, hasty.For(alice, "k", "two books"), never(t)).wants(t, "accepted", true)
	}
	wantCount(t, "claims of the store", store.claims.Load(), 0)
	wantCount(t, "claims of the front: memory keeps its answer", int64(front.claims), 1)
	wantCount(t, "leaves", int64(len(front.left)), 0)
}

// Whatever a front says, the store decides.
func TestFrontIsNotBelieved(t *testing.T) {
	expired := standing(t, "k", "two books", "too old")
	expired.Life = 0
	unfinished := standing(t, "k", "two books", "not yet")
	unfinished.State = onceward.StateRunning
	foreign := standing(t, "another", "two books", "another's")
	foreign.ID = standing(t, "k", "two books", "").ID
	for name, front := range map[string]*scripted{
		"broken":     {err: errFront},
		"expired":    {record: expired},
		"unfinished": {record: unfinished},
		"foreign":    {record: foreign},
	} {
		e := newEngine(t, newProbe(), onceward.Options{Front: front})
		do(t.Context(), e, hasty.For(alice, "k", "two books"), says(name)).wants(t, name, false)
		if len(front.left) != 1 || front.left[0] == nil || string(front.left[0].Outcome.Data) != name {
			t.Errorf("%s: the front was left with %v", name, front.left)
		}
	}
}

func TestFrontIsLeftWithWhatStands(t *testing.T) {
	for name, test := range map[string]struct {
		work  onceward.Work[*tx]
		stays bool
	}{
		"saved":       {says("accepted"), true},
		"failed":      {func(context.Context, *tx) (onceward.Outcome, error) { return onceward.Outcome{}, errWork }, false},
		"panicked":    {func(context.Context, *tx) (onceward.Outcome, error) { panic("oh") }, false},
		"caller gone": {says("accepted"), true},
	} {
		synctest.Test(t, func(t *testing.T) {
			front, store := &scripted{}, newProbe()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			store.onSave = func(_ context.Context, save func() (bool, error)) (bool, error) {
				time.Sleep(time.Second) // of the test's clock
				if name == "caller gone" {
					cancel()
				}
				return save()
			}
			func() {
				defer func() { _ = recover() }()
				do(ctx, newEngine(t, store, onceward.Options{Front: front}), hasty.For(alice, "k", "two books"), test.work)
			}()
			if len(front.left) != 1 || (front.left[0] != nil) != test.stays {
				t.Fatalf("%s: the front was left with %v", name, front.left)
			}
			if test.stays && front.left[0].Life != hasty.Retention-time.Second {
				t.Errorf("%s: it was given a life of %v: it may not outlive the store's", name, front.left[0].Life)
			}
		})
	}
}

// A front that has lost a record is given it again by the replay from the store.
func TestFrontIsFilledAgain(t *testing.T) {
	store := newProbe()
	do(t.Context(), newEngine(t, store, onceward.Options{}), hasty.For(alice, "k", "two books"), says("accepted"))
	front := &scripted{}
	e := newEngine(t, store, onceward.Options{Front: front})
	do(t.Context(), e, hasty.For(alice, "k", "two books"), never(t)).wants(t, "accepted", true)
	if len(front.left) != 1 || front.left[0] == nil || front.left[0].Life > hasty.Retention {
		t.Errorf("the front was left with %v", front.left)
	}
}

// R1.5: a caller that does not wait is told by the running holder. One that waits is decided by what is committed.
func TestF06HolderRefusesWhoDoesNotWait(t *testing.T) {
	for meaning, want := range map[string]error{"two books": onceward.ErrInFlight, "three books": onceward.ErrKeyReused} {
		front, store := &scripted{holder: meant(t, meaning)}, newProbe()
		e := newEngine(t, store, onceward.Options{Front: front})
		do(t.Context(), e, hasty.For(alice, "k", "two books"), never(t)).fails(t, want)
		wantCount(t, "claims of the store", store.claims.Load(), 0)
		do(t.Context(), e, patient.For(alice, "k", "two books"), says("accepted")).wants(t, "accepted", false)
	}
}

func TestFrontsPartsAreObserved(t *testing.T) {
	for want, front := range map[onceward.Note]*scripted{onceward.NoteFront: {}, onceward.NoteSkipped: {err: errFront}} {
		notes := map[onceward.Step]int{}
		e := newEngine(t, newProbe(), onceward.Options{Front: front, Observer: observerFunc(func(ev onceward.Event) {
			if ev.Note == want && errors.Is(ev.Err, front.err) {
				notes[ev.Step]++
			}
		})})
		do(t.Context(), e, hasty.For(alice, "k", "two books"), says("accepted")).wants(t, "accepted", false)
		if notes[onceward.StepClaim] != 1 || notes[onceward.StepSave] != 1 {
			t.Errorf("%s: noted %v", want, notes)
		}
	}
}

// observerFunc is told of the ends.
type observerFunc func(onceward.Event)

func (observerFunc) Start(ctx context.Context, _ onceward.Event) context.Context { return ctx }

func (f observerFunc) End(_ context.Context, e onceward.Event) { f(e) }
