package proofs

import (
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

var errWork = errors.New("the work failed")

// end is what the client is told of a work that does what it should not, and what remains of it.
type end struct {
	status   int    // 0: the connection is closed without an answer
	code     string // of the problem
	effects  int
	recorded bool // then a retry is a replay; else it runs
}

var (
	nothing500 = end{status: http.StatusInternalServerError, code: "internal"}
	nothing503 = end{status: http.StatusServiceUnavailable, code: "not_committed"}
	stands     = end{status: http.StatusCreated, effects: 1, recorded: true}
)

// misdeeds are works that fail, or do what a work should not. Each has its effect first. The two databases may differ, in one
// way: PostgreSQL aborts the transaction where SQLite takes back, or refuses, the statement alone. Both are all or nothing.
var misdeeds = []struct {
	name             string
	do               work
	postgres, sqlite end
}{
	{"an error", after(func(*http.Request, session) error { return errWork }), nothing500, nothing500},
	{
		"a refusal", after(func(*http.Request, session) error { return httponce.Refuse(http.StatusConflict, nil) }),
		end{status: http.StatusConflict},
		end{status: http.StatusConflict},
	},
	{"a panic", after(func(*http.Request, session) error { panic("the work panics") }), nothing500, nothing500},
	{"runtime.Goexit", after(func(*http.Request, session) error { runtime.Goexit(); return nil }), end{}, end{}},
	{"http.ErrAbortHandler", after(func(*http.Request, session) error { panic(http.ErrAbortHandler) }), end{}, end{}},
	{"F23 a swallowed SQL error", after(func(r *http.Request, s session) error {
		_ = s.exec(r.Context(), "INSERT INTO singular (key) VALUES ('twice'), ('twice')")
		return nil
	}), nothing503, stands},
	{"an SQL error that is returned", after(func(r *http.Request, s session) error {
		return s.exec(r.Context(), "INSERT INTO singular (key) VALUES ('twice'), ('twice')")
	}), nothing500, nothing500},
	// What a raw COMMIT has committed cannot be taken back: it is told, nothing is recorded, and no retry is invited.
	{
		"a raw COMMIT", after(func(r *http.Request, s session) error { return s.exec(r.Context(), "COMMIT") }),
		end{status: http.StatusInternalServerError, code: "internal", effects: 1},
		nothing500,
	},
	{"a raw COMMIT whose error is swallowed", after(func(r *http.Request, s session) error {
		_ = s.exec(r.Context(), "COMMIT")
		return nil
	}), end{status: http.StatusInternalServerError, code: "internal", effects: 1}, stands},
	{
		"a raw COMMIT and a refusal", after(func(r *http.Request, s session) error {
			_ = s.exec(r.Context(), "COMMIT")
			return httponce.Refuse(http.StatusConflict, nil)
		}),
		end{status: http.StatusInternalServerError, code: "internal", effects: 1},
		end{status: http.StatusConflict},
	},
	{"a raw COMMIT and a new BEGIN", after(func(r *http.Request, s session) error {
		_ = s.exec(r.Context(), "COMMIT")
		_ = s.exec(r.Context(), "BEGIN")
		return nil
	}), end{status: http.StatusInternalServerError, code: "internal", effects: 1}, stands},
	{"a raw ROLLBACK", after(func(r *http.Request, s session) error {
		_ = s.exec(r.Context(), "ROLLBACK")
		return nil
	}), nothing500, stands},
	{"leaked rows", after(func(r *http.Request, s session) error { return s.leak(r.Context(), "SELECT key FROM effect") }), nothing503, stands},
}

// after is a work that does something bad between its effect and its answer.
func after(bad func(r *http.Request, s session) error) work {
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		if err := errors.Join(effect(r, s), bad(r, s)); err != nil {
			return err
		}
		return created(w)
	}
}

// misbehavingOnce does something bad at its first run, and is well-behaved from then on.
func misbehavingOnce(bad work) work {
	first := make(chan struct{}, 1)
	first <- struct{}{}
	return func(w http.ResponseWriter, r *http.Request, s session) error {
		select {
		case <-first:
			return bad(w, r, s)
		default:
			return placing(w, r, s)
		}
	}
}

// TestR2_8_Works: whatever a work does, its effect and its record share one fate, the claim is gone, the connection is back, and the next
// caller of the key is served.
func TestR2_8_Works(t *testing.T) {
	t.Parallel()
	for _, c := range misdeeds {
		t.Run(c.name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, db *database) {
				want := c.sqlite
				if db.postgres() {
					want = c.postgres
				}
				d := db.door(doorOptions{}, misbehavingOnce(c.do))
				first, err := send(t.Context(), d.url, order("1"))
				if (err != nil) != (want.status == 0) {
					t.Fatalf("the first answer is %d %s, the error %v", first.status, first.body, err)
				}
				if first.status != want.status || first.status >= 500 && first.code() != want.code {
					t.Errorf("the first answer is %d %s, want %d %s", first.status, first.body, want.status, want.code)
				}
				if halfDone := want.effects > 0 && !want.recorded; halfDone && strings.Contains(first.body, "it is not carried out twice") {
					t.Errorf("the answer invites a retry, which would be carried out again: %s", first.body)
				}
				db.wantEffects(want.effects)
				wantFree(d)
				db.wantQuiet()
				retried := d.post(order("1"))
				if want.recorded {
					wantReplay(t, retried, first)
					db.wantEffects(want.effects)
				} else {
					wantCreated(t, retried)
					db.wantEffects(want.effects + 1)
				}
				if n := db.records(); n != 1 {
					t.Errorf("there are %d records, want 1", n)
				}
			})
		})
	}
}

// TestR2_8_LeakedTransaction: what a work kept of its transaction is dead, and writes into nobody else's.
func TestR2_8_LeakedTransaction(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		leaks := make(chan session, 1)
		inside, goOn := make(chan struct{}), make(chan struct{})
		leak := func(_ *http.Request, s session) error { leaks <- s; return nil }
		d := db.door(doorOptions{}, misbehavingOnce(after(leak)))
		wantCreated(t, d.post(order("1")))
		leaked := <-leaks
		d2 := db.door(doorOptions{}, func(w http.ResponseWriter, r *http.Request, s session) error {
			close(inside)
			<-goOn
			return placing(w, r, s)
		})
		use := func() {
			if err := leaked.exec(t.Context(), "INSERT INTO effect (key) VALUES ('leak')"); !errors.Is(err, onceward.ErrTxEnded) {
				t.Errorf("a dead transaction says %v, want ErrTxEnded", err)
			}
		}
		use()
		second := later(t, d2.url, order("2"))
		await(t, "another work, perhaps on the same connection", inside)
		use()
		close(goOn)
		wantCreated(t, await(t, "its answer", second))
		db.wantEffects(2)
	})
}

// TestR2_11_ExpiredRecord: retention ends by the database's clock; then the key is claimed anew, or refused where the operation says so.
func TestR2_11_ExpiredRecord(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		anew := db.door(doorOptions{}, placing)
		first := anew.post(order("1"))
		db.expire()
		fresh := db.door(doorOptions{}, placing) // the first one's memory may replay until the record's life is over
		again := fresh.post(order("1").with(`{"sku":"BOOK","quantity":3}`))
		wantCreated(t, again)
		if again.essence() == first.essence() {
			t.Error("an expired record was replayed")
		}
		db.wantEffects(2)

		strict := &onceward.Operation{Name: "proof.v1", RefuseExpired: time.Hour}
		db.exec("UPDATE onceward_record SET expires_at = created_at")
		refusing := db.door(doorOptions{operation: strict}, placing)
		refused := refusing.post(order("1").with(`{"sku":"BOOK","quantity":3}`))
		if wantStatus(t, refused, http.StatusGone); refused.code() != "expired" {
			t.Errorf("the code is %q, want expired", refused.code())
		}
		wantStatus(t, refusing.post(order("1")), http.StatusUnprocessableEntity) // another meaning learns nothing of the state
		db.wantEffects(2)
	})
}

// TestR2_11_WorkLongerThanItsRetention: a record lives from its saving, so that a retry finds it however long the work took. A
// duplicate that comes while the work runs never runs beside it.
func TestR2_11_WorkLongerThanItsRetention(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		const retention = 2 * time.Second
		entered := make(chan struct{}, 1)
		operation := &onceward.Operation{Name: "proof.v1", Retention: retention, Wait: patience}
		other := db.door(doorOptions{operation: operation}, placing) // a process that remembers nothing
		d := db.door(doorOptions{operation: operation},
			func(w http.ResponseWriter, r *http.Request, s session) error {
				entered <- struct{}{}
				<-time.After(retention + 100*time.Millisecond) // what is proven is about time
				return placing(w, r, s)
			})
		held := later(t, d.url, order("1"))
		await(t, "the work", entered)
		duplicate := d.post(order("1"))
		first := await(t, "the first answer", held)
		wantReplay(t, other.post(order("1")), first)
		wantCreated(t, first)
		wantReplay(t, duplicate, first)
		db.wantEffects(1)
	})
}
