package proofs

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/oncetest"
)

// pass sends a request that was made without a server.
func (s *server) pass(r *http.Request) answer {
	s.t.Helper()
	at := must(url.Parse(s.url()))(s.t)
	body := must(io.ReadAll(r.Body))(s.t)
	r.Body = io.NopCloser(bytes.NewReader(body)) // to be sent again
	sent := r.Clone(s.t.Context())
	sent.RequestURI, sent.URL.Scheme, sent.URL.Host, sent.Host = "", at.Scheme, at.Host, at.Host
	sent.Body = io.NopCloser(bytes.NewReader(body))
	got := must(client.Do(sent))(s.t)
	defer func() { _ = got.Body.Close() }()
	return answer{got.StatusCode, got.Header, string(must(io.ReadAll(got.Body))(s.t))}
}

// get is alice's GET.
func (s *server) get(path string) answer {
	s.t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+alice)
	return s.pass(r)
}

// TestR1_3_EveryPatternOutlivesRedis: Redis loses all that it knows, twice, and the process its memory; the answer and the
// effect stay what they were.
func TestR1_3_EveryPatternOutlivesRedis(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(*testing.T) *database{"postgres": onPostgres, "mariadb": onMariaDB, "sqlite": onSQLite} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db, redis := on(t), dbtest.StartRedis(t, dbtest.RedisOptions{})
			s := behind(t, db, redis, 1)[0]
			for i, c := range crashes {
				effects := 0
				run := oncetest.Run{Key: fmt.Sprintf("%sredis-%d", keyMark, i), Send: func(r *http.Request) *http.Response {
					a := s.pass(r)
					if a.status/100 != 2 {
						t.Fatalf("%s %s is answered with %d %s", r.Method, r.URL.Path, a.status, a.body)
					}
					effects = db.number(c.effects)
					return &http.Response{Body: io.NopCloser(strings.NewReader(a.body))}
				}}
				effects = db.number(c.effects)
				r := c.request(t, run)
				first := s.pass(r)
				if first.status/100 != 2 {
					t.Fatalf("%s is answered with %d %s", c.call, first.status, first.body)
				}
				inRedis(t, redis, "FLUSHALL")
				for _, again := range []string{"from memory", "from the database"} {
					a := s.pass(r)
					if a.status != first.status || a.body != first.body {
						t.Errorf("%s, %s: got %d %s, want the first answer %d %s", c.call, again, a.status, a.body, first.status, first.body)
					}
					inRedis(t, redis, "FLUSHALL")
					s.restart()
				}
				if got := db.number(c.effects); got != effects+1 {
					t.Errorf("%s has had %d effects, want 1", c.call, got-effects)
				}
			}
		})
	}
}

// ordersIn adds n orders of acme's in December 2026 and returns their ids.
func (db *database) ordersIn(n int) map[string]bool {
	ids := map[string]bool{}
	for done := 0; done < n; {
		var rows []string
		for ; done < n && len(rows) < 500; done++ {
			id := uuid.Must(uuid.NewV7())
			copy(id[:6], []byte{0x01, 0x9b, 0x00, byte(done >> 16), byte(done >> 8), byte(done)}) // 2025-12-08
			ids[id.String()] = true
			rows = append(rows, fmt.Sprintf("('%s', 'acme', 'alice', '%s', 'PEN', 1, 9900, 'accepted')", id, id))
		}
		db.exec("INSERT INTO orders (id, tenant, principal, order_no, sku, quantity, amount_cents, status) VALUES " + strings.Join(rows, ", "))
	}
	return ids
}

// TestR3_5_AnExportOutlivesItsProcess: the process is killed in the middle of an export, again and again. The file has each order
// once.
func TestR3_5_AnExportOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(*testing.T) *database{"postgres": onPostgres, "mariadb": onMariaDB, "sqlite": onSQLite} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := on(t)
			s := startServer(t, db.name)
			ids := db.ordersIn(30_000)
			first := post(t, s.url(), request{path: "/exports", key: "1", body: `{"report":"orders","month":"2025-12","format":"csv"}`})
			wantStatus(t, first, http.StatusAccepted)
			kills := 0
			for chunks := 0; kills < 3; kills++ {
				until(t, "the export goes on", func() bool { return db.number("SELECT sum(chunk) FROM exports") > chunks })
				s.kill()
				chunks = db.number("SELECT sum(chunk) FROM exports")
				if db.number("SELECT count(*) FROM exports WHERE state = 'running'") == 0 {
					break // it was too quick
				}
				s.start()
			}
			if kills == 0 {
				t.Error("the export was over before the process was killed")
			}
			s.restart()
			var export struct{ State, File string }
			until(t, "the export is completed", func() bool {
				a := s.get(first.header.Get("Location"))
				return json.Unmarshal([]byte(a.body), &export) == nil && export.State == "completed"
			})
			rows := must(csv.NewReader(strings.NewReader(s.get(export.File).body)).ReadAll())(t)
			seen := map[string]bool{}
			for _, row := range rows[1:] {
				if !ids[row[0]] || seen[row[0]] {
					t.Fatalf("the file has the order %s again, or it is none", row[0])
				}
				seen[row[0]] = true
			}
			if len(seen) != len(ids) {
				t.Errorf("the file has %d orders, want %d", len(seen), len(ids))
			}
			if n := db.number("SELECT count(*) FROM exports"); n != 1 {
				t.Errorf("%d exports, want 1", n)
			}
		})
	}
}
