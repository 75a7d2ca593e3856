package shop

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

const december = `{"report":"orders","month":"2026-12","format":"csv"}`

// export asks for a report without a key.
func (p *process) export(token, body string) answer {
	p.t.Helper()
	return insist(func() answer { return p.send(request{method: "POST", path: "/exports", token: token, body: body}) })
}

// ended waits for the end of an export and returns how it is shown then.
func (p *process) ended(token, place string) (e exportAnswer) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		a := p.get(place, token)
		a.want(p.t, 200, "")
		before := e.Progress
		if err := json.Unmarshal([]byte(a.body), &e); err != nil || e.Progress < before {
			p.t.Fatalf("after %d %% the export is %s", before, a.body)
		}
		if e.State != exportRunning {
			return e
		}
		if a.header.Get("Retry-After") == "" {
			p.t.Fatalf("a running export does not tell when to come again: %s", a.body)
		}
	}
	p.t.Fatal("the export does not end")
	return e
}

// ordersIn adds n orders of acme's in a month, behind the shop's back, and returns their ids.
func (d *database) ordersIn(month string, n int) map[string]bool {
	d.t.Helper()
	at := must(time.Parse("2006-01", month))(d.t)
	ids := map[string]bool{}
	for done := 0; done < n; {
		var rows []string
		for ; done < n && len(rows) < 400; done++ {
			id := uuid.Must(uuid.NewV7())
			first := firstID(at.Add(time.Duration(done) * time.Minute))
			copy(id[:6], first[:6])
			ids[id.String()] = true
			rows = append(rows, fmt.Sprintf("('%s', 'acme', 'alice', '%s', '-PEN', 1, 9900, 'accepted')", id, id))
		}
		d.exec("INSERT INTO orders (id, tenant, principal, order_no, sku, quantity, amount_cents, status) VALUES " + strings.Join(rows, ", "))
	}
	return ids
}

// wantFile checks that a file has each of the orders once.
func wantFile(t *testing.T, file answer, ids map[string]bool) {
	t.Helper()
	file.want(t, 200, "")
	if !strings.HasPrefix(file.header.Get("Content-Type"), "text/csv") || !strings.HasPrefix(file.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the file comes with %v", file.header)
	}
	rows := must(csv.NewReader(strings.NewReader(file.body)).ReadAll())(t)
	seen := map[string]int{}
	for _, row := range rows[min(1, len(rows)):] {
		seen[row[0]]++
		if !ids[row[0]] || seen[row[0]] > 1 || len(row) != 7 || row[2] != "'-PEN" {
			t.Fatalf("the file has the row %q, for the %d. time", row, seen[row[0]])
		}
	}
	if len(rows) == 0 || rows[0][0] != "id" || len(seen) != len(ids) {
		t.Errorf("the file has %d orders, want %d", len(seen), len(ids))
	}
}

func TestR3_5_TwoRequestsInTheWindowAreOneExport(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		one, two := db.start(), db.start()
		ids := db.ordersIn("2026-12", 3*chunkRows-1)
		db.ordersIn("2026-11", 3)
		db.exec("UPDATE orders SET tenant = 'globex' WHERE id < '" + firstID(must(time.Parse("2006-01", "2026-12"))(t)).String() + "'")
		answers := atOnce(20, func(i int) answer {
			return []*process{one, two}[i%2].export(alice, []string{december, `{"format":"csv", "month":"2026-12", "report":"orders"}`}[i/2%2])
		})
		place := answers[0].header.Get("Location")
		for _, a := range answers {
			if a.want(t, 202, ""); a.header.Get("Location") != place {
				t.Errorf("got %q, want the first export %q", a.header.Get("Location"), place)
			}
		}
		db.wantCount("exports", 1)
		if e := one.ended(alice, place); e.State != exportCompleted || e.Progress != 100 || e.File != place+"/file" {
			t.Errorf("the export has ended as %+v", e)
		}
		wantFile(t, one.get(place+"/file", bob), ids) // whoever of the tenant
		for _, path := range []string{place, place + "/file", "/exports/none", "/exports/01a23248-ec4e-7b07-812f-57a0bae1a016/file"} {
			token := carol
			if strings.Contains(path, "none") {
				token = alice
			}
			one.get(path, token).want(t, 404, "export_unknown")
		}
		one.export(bob, december).want(t, 202, "") // bob's own
		one.export(alice, strings.Replace(december, "12", "11", 1)).want(t, 202, "")
		db.wantCount("exports", 3)
		one.export("", december).want(t, 401, "unauthenticated")
		for _, wrong := range []string{`{}`, strings.Replace(december, "12", "13", 1), strings.Replace(december, "csv", "pdf", 1)} {
			one.export(alice, wrong).want(t, 400, "body_invalid")
		}
	})
}

func TestR3_5_AfterTheWindowThereIsANewExport(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		first := p.export(alice, december)
		p.end()
		db.expire()
		p = db.start()
		if again := p.export(alice, december); again.status != 202 || again.header.Get("Location") == first.header.Get("Location") {
			t.Errorf("got %d with %q after the window", again.status, again.header.Get("Location"))
		}
		db.wantCount("exports", 2)
	})
}

func TestR3_5_OtherContentIsAnotherExport(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		first := p.export(alice, december)
		other := p.export(alice, strings.Replace(december, "12", "11", 1))
		again := p.export(alice, december)
		if other.status != 202 || other.header.Get("Location") == first.header.Get("Location") || again.body != first.body {
			t.Errorf("got %d with %q, and then %q", other.status, other.header.Get("Location"), again.body)
		}
		db.wantCount("exports", 2)
	})
}

// F40: two that mean it are two, though they say the same.
func TestR3_5_F40_AKeyOverridesTheWindow(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		places := map[string]bool{p.export(alice, december).header.Get("Location"): true}
		for range 2 {
			for _, key := range []string{"one", "two"} {
				a := p.post("/exports", alice, key, december)
				a.want(t, 202, "")
				places[a.header.Get("Location")] = true
			}
		}
		p.post("/exports", alice, "one", strings.Replace(december, "12", "11", 1)).want(t, 422, "key_reused")
		if len(places) != 3 {
			t.Errorf("%d exports were begun, want 3", len(places))
		}
		p.end()
		// A key is kept for its retention, and not for the window.
		db.wantCount("exports", 3)
		later := "expires_at > now() + interval '23 hours'"
		if db.kind == KindMySQL {
			later = "expires_at > UTC_TIMESTAMP() + INTERVAL 23 HOUR"
		} else if db.kind == KindSQLite {
			later = fmt.Sprintf("expires_at > %d", time.Now().Add(23*time.Hour).UnixMilli())
		}
		db.wantCount(recordTable+" WHERE "+later, 2)
	})
}

// The first died after it had registered: nothing stands, and the next one is the first.
func TestR3_5_AFailureInTheMiddleLeavesNoExport(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		g := newGate()
		p := db.startGated(g)
		g.release <- errors.New("the power is gone")
		p.export(alice, december).want(t, 500, "internal")
		db.wantCount("exports", 0)
		db.wantCount(recordTable, 0)
		g.release <- nil // for the request
		g.release <- nil // for the worker's chunk
		a := p.export(alice, december)
		a.want(t, 202, "")
		p.ended(alice, a.header.Get("Location"))
		db.wantCount("exports", 1)
	})
}

func TestR3_5_AnExportThatCannotBeWrittenHasFailed(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		place := p.export(alice, december).header.Get("Location")
		p.ended(alice, place)
		p.end()
		db.exec("UPDATE exports SET state = 'running', chunk = 0, written = 0") // its first chunk is there
		p = db.start()
		if e := p.ended(alice, place); e.State != exportFailed || e.File != "" {
			t.Errorf("the export has ended as %+v", e)
		}
		p.get(place+"/file", alice).want(t, http.StatusConflict, "export_not_completed")
	})
}
