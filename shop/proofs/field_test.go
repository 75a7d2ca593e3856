package proofs

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// TestF28_WaitersHoldNoConnection: fifty duplicates of a running order, in a process with two connections. The first attempt has
// one; other orders go on with the other. In a second process the duplicates wait with one connection between them (B8).
func TestF28_WaitersHoldNoConnection(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	a := startServer(t, db.named("a", "pool_max_conns", "2"))
	b := startServer(t, db.named("b", "pool_max_conns", "2"))
	// An order of 13 pieces waits, inside its insert, for a lock that the test holds.
	db.exec(`CREATE FUNCTION proof_wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(13); RETURN NEW; END $$`)
	db.exec(`CREATE TRIGGER proof_wait BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.quantity = 13) EXECUTE FUNCTION proof_wait()`)
	gate := must(db.eyes.Conn(t.Context()))(t)
	t.Cleanup(func() { _ = gate.Close() })
	lock := func(call string) {
		if _, err := gate.ExecContext(t.Context(), "SELECT "+call+"(13)"); err != nil {
			t.Fatal(err)
		}
	}
	lock("pg_advisory_lock")
	hot := order("hot").with(`{"sku":"BOOK","quantity":13}`)
	first := later(t, a.url(), hot)
	db.awaitLocks("advisory", 1)

	const duplicates = 50
	answers := make(chan answer, 2*duplicates)
	for _, s := range []*server{a, b} {
		for range duplicates {
			go func() { answers <- post(t, s.url(), hot) }()
		}
	}
	db.awaitLocks("advisory", 2)
	for i := range 10 {
		for name, s := range map[string]*server{"a": a, "b": b} {
			wantCreated(t, post(t, s.url(), order(fmt.Sprint(name, i))))
			if n := db.number(`SELECT count(*) FROM pg_stat_activity WHERE application_name = '` + name + `' AND wait_event_type = 'Lock'`); n > 1 {
				t.Errorf("process %s has %d connections that wait, want at most 1", name, n)
			}
		}
	}
	lock("pg_advisory_unlock")
	one := await(t, "the first answer", first)
	wantCreated(t, one)
	for range 2 * duplicates {
		duplicate := await(t, "a duplicate's answer", answers)
		if duplicate.status != http.StatusCreated {
			wantComeAgain(t, duplicate) // its second was over
			continue
		}
		wantReplay(t, duplicate, one)
	}
	db.wantRows(21, 21)
}

// TestF26_BusyFileIsA503: another process keeps the file's lock for longer than the store waits.
func TestF26_BusyFileIsA503(t *testing.T) {
	t.Parallel()
	db := onSQLite(t)
	d := db.door(doorOptions{busyTimeout: pollEvery}, placing)
	release := db.hold()
	wantComeAgain(t, d.post(order("1")))
	db.wantNothing()
	release()
	wantCreated(t, d.post(order("1")))
	db.wantEffects(1)
}

// TestF10_StoredAnswerHoldsNothingOfTheSession: what belongs to one response is sent to the first caller, is not in the record, and
// does not come with a replay, in a fresh process.
func TestF10_StoredAnswerHoldsNothingOfTheSession(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		o := doorOptions{headers: []string{"X-Kept"}, outer: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Access-Control-Allow-Origin", "https://"+r.Header.Get("Authorization")[len("Bearer "):])
				next.ServeHTTP(w, r)
			})
		}}
		do := func(w http.ResponseWriter, r *http.Request, s session) error {
			w.Header().Set("Set-Cookie", "session=s3cret")
			w.Header().Set("X-Other", "s3cret")
			w.Header().Set("X-Kept", "kept")
			w.Header().Set("ETag", `"1"`)
			return placing(w, r, s)
		}
		first := db.door(o, do).post(order("1"))
		wantCreated(t, first)
		if first.header.Get("Set-Cookie") == "" || first.header.Get("X-Other") == "" {
			t.Error("the first caller has not got all of the answer")
		}
		contains := `SELECT count(*) FROM onceward_record WHERE instr(outcome, CAST('s3cret' AS BLOB)) > 0`
		if db.postgres() {
			contains = `SELECT count(*) FROM onceward_record WHERE position('s3cret'::bytea IN outcome) > 0`
		}
		if db.number(contains) != 0 {
			t.Error("the record holds what belongs to one response")
		}
		replayed := db.door(o, do).post(order("1"))
		wantReplay(t, replayed, first)
		for name, want := range map[string]int{"Set-Cookie": 0, "X-Other": 0, "X-Kept": 1, "Etag": 1, "Access-Control-Allow-Origin": 1} {
			if got := len(replayed.header[name]); got != want {
				t.Errorf("the replay has %d fields %s, want %d", got, name, want)
			}
		}
		db.wantEffects(1)
	})
}

// TestF11_LargeAnswerIsNeverCarriedOutAgain: of an answer that is too large to be kept, the record keeps that it was given.
func TestF11_LargeAnswerIsNeverCarriedOutAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		do := func(w http.ResponseWriter, r *http.Request, s session) error {
			if err := placing(w, r, s); err != nil {
				return err
			}
			_, err := w.Write(make([]byte, 5000))
			return err
		}
		first := db.door(doorOptions{storedBytesMax: 1000}, do).post(order("1"))
		wantCreated(t, first)
		if len(first.body) < 5000 {
			t.Errorf("the first caller has got %d bytes", len(first.body))
		}
		for range 2 {
			retried := db.door(doorOptions{storedBytesMax: 1000}, do).post(order("1"))
			if wantStatus(t, retried, http.StatusGone); retried.code() != "answer_not_stored" || retried.header.Get("Location") != first.header.Get("Location") {
				t.Errorf("the retry is told %s, %s", retried.code(), retried.header.Get("Location"))
			}
		}
		db.wantEffects(1)
	})
}

// TestR2_1_PermissionIsAskedAgainOnReplay: a caller who may not any more is not shown what he was shown before, nor whether there is
// anything: replay, conflict and first attempt are refused alike, from memory and from the database.
func TestR2_1_PermissionIsAskedAgainOnReplay(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		var allowed atomic.Bool
		allowed.Store(true)
		o := doorOptions{authorize: func(*http.Request, onceward.Command) error {
			if !allowed.Load() {
				return httponce.Refuse(http.StatusForbidden, nil)
			}
			return nil
		}}
		d := db.door(o, placing)
		first := d.post(order("1"))
		wantCreated(t, first)
		allowed.Store(false)
		for _, d := range []*door{d, db.door(o, placing)} {
			refused := d.post(order("1"))
			wantStatus(t, refused, http.StatusForbidden)
			for _, other := range []request{order("1").with(`{"quantity":3}`), order("unused")} {
				if a := d.post(other); a.essence() != refused.essence() {
					t.Errorf("the refusals differ:\n%s\n%s", a.essence(), refused.essence())
				}
			}
		}
		allowed.Store(true)
		wantReplay(t, d.post(order("1")), first)
		db.wantEffects(1)
	})
}
