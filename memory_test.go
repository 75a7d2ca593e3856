package onceward_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// remembers tells whether e answers c without its store.
func remembers(t testing.TB, e *onceward.Engine[*tx], store *probe, c onceward.Command) bool {
	t.Helper()
	before := store.claims.Load()
	if r := do(t.Context(), e, c, never(t)); r.err != nil {
		t.Errorf("Do: %v", r.err)
	}
	return store.claims.Load() == before
}

func key(n int) onceward.Command { return hasty.For(alice, fmt.Sprintf("key %3d", n), nil) }

func TestMemoryForgetsTheLeastRecentlyUsed(t *testing.T) {
	const weight = 1000 // of an outcome; with what is beside it less than twice as much
	store := newProbe()
	e := newEngine(t, store, onceward.Options{MemoryBytesMax: 40 * weight})
	fits := 0
	for n := 0; ; n++ {
		do(t.Context(), e, key(n), says(strings.Repeat("x", weight))).wants(t, strings.Repeat("x", weight), false)
		entries, bytes, weighed := e.Remembered()
		if bytes != weighed || bytes > 40*weight || bytes < entries*weight {
			t.Fatalf("%d entries weigh %d bytes, reckoned as %d, at most %d", entries, weighed, bytes, 40*weight)
		}
		if entries == n {
			fits = entries
			break
		}
	}
	// key 0 is gone; key 1 is next, unless it is used.
	if !remembers(t, e, store, key(1)) {
		t.Error("key 1 was forgotten too early")
	}
	do(t.Context(), e, key(fits+1), says(strings.Repeat("x", weight))).wants(t, strings.Repeat("x", weight), false)
	if !remembers(t, e, store, key(1)) {
		t.Error("key 1 was forgotten though it was used")
	}
	if remembers(t, e, store, key(2)) {
		t.Error("key 2 is remembered though it was used least recently")
	}
}

func TestMemoryTakesNoGiants(t *testing.T) {
	store := newProbe()
	e := newEngine(t, store, onceward.Options{MemoryBytesMax: 64 << 10})
	do(t.Context(), e, key(1), says("small")).wants(t, "small", false)
	giant := strings.Repeat("x", 5<<10)
	do(t.Context(), e, key(2), says(giant)).wants(t, giant, false)
	if remembers(t, e, store, key(2)) || !remembers(t, e, store, key(1)) {
		t.Error("an outcome above a 16th of the memory drove others out")
	}
}

func TestMemoryCanBeNone(t *testing.T) {
	store := newProbe()
	e := newEngine(t, store, onceward.Options{MemoryBytesMax: -1})
	do(t.Context(), e, key(1), says("ok")).wants(t, "ok", false)
	if remembers(t, e, store, key(1)) {
		t.Error("something is remembered")
	}
}

// F32: what is remembered ends with its record, or after five minutes, whichever comes first.
func TestF32MemoryIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newProbe()
		e := newEngine(t, store, onceward.Options{})
		do(t.Context(), e, key(1), says("ok")).wants(t, "ok", false)
		time.Sleep(5*time.Minute - time.Nanosecond)
		if !remembers(t, e, store, key(1)) {
			t.Error("it was forgotten before five minutes had passed")
		}
		time.Sleep(time.Nanosecond)
		if remembers(t, e, store, key(1)) {
			t.Error("it is remembered after five minutes")
		}
		if !remembers(t, e, store, key(1)) {
			t.Error("what the store answered is not remembered")
		}
	})
}

func TestF32ExpiredIsNotReplayedFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newProbe()
		e := newEngine(t, store, onceward.Options{})
		briefly := *hasty
		briefly.Retention = time.Minute
		c := briefly.For(alice, "k", nil)
		do(t.Context(), e, c, says("the first")).wants(t, "the first", false)
		time.Sleep(time.Minute - time.Second)
		fresh := newEngine(t, store, onceward.Options{}) // it learns of the record when a second of its life is left
		do(t.Context(), fresh, c, never(t)).wants(t, "the first", true)
		time.Sleep(time.Second)
		do(t.Context(), fresh, c, says("the second")).wants(t, "the second", false)
		do(t.Context(), e, c, never(t)).wants(t, "the second", true)
		if entries, _, _ := e.Remembered(); entries != 1 {
			t.Errorf("%d entries of one key", entries)
		}
	})
}

// What was slow to be saved is remembered from before the saving, so that memory ends first.
func TestMemoryEndsBeforeTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newProbe()
		store.onSave = func(_ context.Context, save func() (bool, error)) (bool, error) {
			untouched, err := save()
			time.Sleep(9 * time.Second) // the answer is under way
			return untouched, err
		}
		e := newEngine(t, store, onceward.Options{})
		briefly := *hasty
		briefly.Retention = 10 * time.Second
		c := briefly.For(alice, "k", nil)
		do(t.Context(), e, c, says("the first")).wants(t, "the first", false)
		time.Sleep(time.Second)
		do(t.Context(), e, c, says("the second")).wants(t, "the second", false)
	})
}

// The memory knows the cheap digest; another meaning is refused, and an equal one in other bytes is not.
func TestMemoryComparesMeanings(t *testing.T) {
	store := newProbe()
	e := newEngine(t, store, onceward.Options{})
	c := func(body string) onceward.Command { return hasty.For(alice, "k", fingerprint.JSON([]byte(body))) }
	do(t.Context(), e, c(`{"sku":"BOOK","quantity":2}`), says("ok")).wants(t, "ok", false)
	do(t.Context(), e, c(`{ "quantity": 2.0, "sku": "BOOK" }`), never(t)).wants(t, "ok", true)
	do(t.Context(), e, c(`{"sku":"BOOK","quantity":3}`), never(t)).fails(t, onceward.ErrKeyReused)
	do(t.Context(), e, c(`{"sku":"BOOK"`), never(t)).fails(t, onceward.ErrMeaning)
	wantCount(t, "claims", store.claims.Load(), 1)
}

// A duplicate may miss the memory just before the first attempt is remembered. What it reads then is the same entry.
// A record that was erased in the store lives on in memory for a while. A join that finds it there must not claim with
// what memory spared it: the digest of its meaning, without which no retry would be the same again.
func TestJoinIsAnsweredFromMemory(t *testing.T) {
	store := newProbe()
	e, c := newEngine(t, store, onceward.Options{}), hasty.For(alice, "k", "two books")
	work := func(context.Context, *tx) (string, error) { return "accepted", nil }
	if got, err := onceward.Run(t.Context(), e, c, work); err != nil || got != "accepted" {
		t.Fatalf("Run: %q, %v", got, err)
	}
	if n, err := store.Store.Sweep(t.Context(), -2*hasty.Retention, 10); n != 1 || err != nil {
		t.Fatalf("erasing: %d records, %v", n, err)
	}
	got, err := onceward.Join(t.Context(), e, new(tx), c, func(context.Context, *tx) (string, error) {
		t.Error("the work ran; Do would have been answered from memory")
		return "", errWork
	})
	if err != nil || got != "accepted" {
		t.Errorf("Join: %q, %v", got, err)
	}
	_, err = onceward.Join(t.Context(), e, new(tx), hasty.For(alice, "k", "three books"), work)
	wantError(t, err, onceward.ErrKeyReused)
	if record, err := store.Find(t.Context(), &onceward.Record{ID: c.ID(), Operation: hasty.Name, Scope: alice, Key: "k"}); record != nil || err != nil {
		t.Errorf("the store has %+v, %v", record, err)
	}
}

func TestMemoryKeepsOneEntryOfAKey(t *testing.T) {
	store, c := newProbe(), key(1)
	var e *onceward.Engine[*tx]
	between := &afterIdentify{do: func() { do(t.Context(), e, c, says("ok")).wants(t, "ok", false) }}
	e = newEngine(t, store, onceward.Options{Observer: between})
	do(t.Context(), e, c, never(t)).wants(t, "ok", true)
	if entries, bytes, weighed := e.Remembered(); entries != 1 || bytes != weighed || bytes > 1000 {
		t.Errorf("%d entries weigh %d bytes, reckoned as %d", entries, weighed, bytes)
	}
	wantCount(t, "claims", store.claims.Load(), 2)
}

// afterIdentify does something once, when a command is identified and not yet claimed.
type afterIdentify struct{ do func() }

func (*afterIdentify) Start(ctx context.Context, _ onceward.Event) context.Context { return ctx }

func (o *afterIdentify) End(_ context.Context, e onceward.Event) {
	if do := o.do; e.Step == onceward.StepIdentify && do != nil {
		o.do = nil
		do()
	}
}
