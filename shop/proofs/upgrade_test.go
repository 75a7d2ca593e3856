package proofs

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// The rule that a service had, and the one that it gets: a member that did count does not any more.
var (
	oldRule = fingerprint.Rule{Version: 1}
	newRule = fingerprint.Rule{Version: 2, Ignore: []string{"/traceId"}}
)

// TestR2_20_RollingUpgrade: processes of the old and of the new version serve one database side by side. A record is compared by the
// rule that wrote it; a process that does not know that rule yet says that it cannot tell, and carries out nothing.
func TestR2_20_RollingUpgrade(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		old := db.door(doorOptions{rules: []fingerprint.Rule{oldRule}}, placing)
		upgraded := db.door(doorOptions{rules: []fingerprint.Rule{newRule, oldRule}}, placing)
		body := func(quantity int, trace string) string {
			return fmt.Sprintf(`{"sku":"BOOK","quantity":%d,"traceId":%q}`, quantity, trace)
		}

		before := order("before").with(body(2, "a"))
		first := old.post(before)
		wantCreated(t, first)
		wantReplay(t, upgraded.post(before), first)
		wantReplay(t, upgraded.post(before.with(`{"traceId":"a", "quantity":2.0, "sku":"BOOK"}`)), first)
		for _, d := range []*door{old, upgraded} { // the old rule counts the trace, in both
			wantStatus(t, d.post(before.with(body(2, "b"))), http.StatusUnprocessableEntity)
			wantStatus(t, d.post(before.with(body(3, "a"))), http.StatusUnprocessableEntity)
		}

		during := order("during").with(body(2, "a"))
		first = upgraded.post(during)
		wantCreated(t, first)
		wantReplay(t, upgraded.post(during.with(body(2, "b"))), first)
		wantStatus(t, upgraded.post(during.with(body(3, "b"))), http.StatusUnprocessableEntity)
		wantComeAgain(t, old.post(during.with(body(2, "b"))))
		wantReplay(t, upgraded.post(during), first)
		db.wantEffects(2)
	})
}

// TestR2_20_ExpiryRace: in every round the record has expired, and callers of several processes ask for its key at once while
// sweepers run. One claims it anew, the others get its answer.
func TestR2_20_ExpiryRace(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		processes := 1
		if db.postgres() {
			processes = 3
		}
		operation := &onceward.Operation{Name: "proof.v1", Retention: time.Hour, Wait: patience}
		const rounds, callers = 8, 12
		for round := range rounds {
			var doors []*door // new ones, which do not remember the last round
			for range processes {
				doors = append(doors, db.door(doorOptions{operation: operation}, placing))
			}
			var sweeping sync.WaitGroup
			for _, d := range doors {
				sweeping.Go(func() {
					for range 5 {
						if err := d.sweep(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			answers := atOnce(callers, func(i int) answer { return doors[i%processes].post(order("1")) })
			sweeping.Wait()
			wantOneAnswer(t, answers)
			db.wantEffects(round + 1)
			for _, d := range doors {
				if err := d.sweep(); err != nil { // what lives is not swept
					t.Error(err)
				}
				wantReplay(t, d.post(order("1")), answers[0])
				d.end()
			}
			db.expire()
		}
	})
}

// TestR2_20_PowerLossSettings: an acknowledged order is on the disk. What the database was told is read in a work's own session. (No
// machine loses its power here: that is the database's promise. PostgreSQL's settings: TestR2_20_PostgreSQLKilledUnderLoad.)
func TestR2_20_PowerLossSettings(t *testing.T) {
	t.Parallel()
	const full = "2"
	onSQLite(t).wantSettings(map[string]string{"PRAGMA synchronous": full, "PRAGMA journal_mode": "wal"})
}

func (db *database) wantSettings(want map[string]string) {
	db.t.Helper()
	d := db.door(doorOptions{}, func(w http.ResponseWriter, r *http.Request, s session) error {
		for query, value := range want {
			if got, err := s.text(r.Context(), query); err != nil || got != value {
				db.t.Errorf("%s: %q %v, want %q", query, got, err, value)
			}
		}
		return placing(w, r, s)
	})
	wantCreated(db.t, d.post(order("1")))
}
