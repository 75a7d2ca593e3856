package shop

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/memstore"
)

func TestOptionsIsAnsweredOnEveryRouteAndNeverClaimed(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		for path, allow := range map[string]string{
			"/orders": "GET, HEAD, OPTIONS, POST", "/orders/1": "GET, HEAD, OPTIONS", "/api/orders": "OPTIONS, POST",
			"/healthz": "GET, HEAD, OPTIONS", "/.well-known/idempotency": "GET, HEAD, OPTIONS",
		} {
			for _, keys := range [][]string{nil, {"k"}, {"a", "b"}} {
				got := p.send(request{method: "OPTIONS", path: path, keys: keys})
				if got.status != 204 || got.body != "" || got.header.Get("Allow") != allow {
					t.Errorf("OPTIONS %s: %d %q, Allow %q, want %q", path, got.status, got.body, got.header.Get("Allow"), allow)
				}
			}
		}
		db.wantRows(0, 0)
	})
}

func TestUnknownRoutesAndMethodsAreProblems(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		for _, path := range []string{"/", "/order", "/orders/", "/orders/1/2", "/api", "/api/orders/1"} {
			p.get(path, alice).want(t, 404, "route_unknown")
			p.post(path, alice, "k", book).want(t, 404, "route_unknown")
		}
		for _, r := range []request{
			{method: "DELETE", path: "/orders"},
			{method: "PUT", path: "/orders"},
			{method: "GET", path: "/api/orders"},
			{method: "POST", path: "/orders/1"},
			{method: "POST", path: "/healthz"},
			{method: "POST", path: "/.well-known/idempotency"},
		} {
			got := p.send(r)
			got.want(t, 405, "method_not_allowed")
			if allow := got.header.Get("Allow"); allow == "" || strings.Contains(allow, r.method) {
				t.Errorf("%s %s: Allow is %q", r.method, r.path, allow)
			}
		}
		db.wantRows(0, 0)
	})
}

func TestBadRequestsClaimNothing(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		for _, path := range []string{"/orders", "/api/orders"} {
			for _, body := range []string{"", "null", "[]", `"x"`, "{", book + book, book + "x", `{"sku":"\ud800","quantity":1}`, "{\"sku\":\"\xff\"}"} {
				p.send(request{method: "POST", path: path, token: alice, keys: []string{"k"}, body: body}).want(t, 400, "body_invalid")
			}
			p.post(path, alice, "k", `{"sku":"`+strings.Repeat("x", 70_000)+`"}`).want(t, 413, "body_too_large")
			p.send(request{
				method: "POST", path: path, token: alice, keys: []string{"k"}, body: "sku=BOOK",
				header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
			}).want(t, 400, "body_invalid")
		}
		db.wantRows(0, 0)
	})
}

func TestHealthAndContract(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		p.get("/healthz", "").want(t, 200, "")
		if got := p.send(request{method: "HEAD", path: "/healthz"}); got.status != 200 || got.body != "" {
			t.Errorf("HEAD: %d %q", got.status, got.body)
		}
		type promise struct {
			Operation                                                   string
			RetentionSeconds, WaitSeconds, WindowSeconds, SubmitSeconds float64
			Key                                                         struct {
				From     string
				BytesMax int
			}
			Problems map[string]int
		}
		var contract struct{ Operations []promise }
		must(0, json.Unmarshal([]byte(p.get("/.well-known/idempotency", "").body), &contract))(t)
		promised := map[string]promise{}
		for _, o := range contract.Operations {
			promised[o.Operation] = o
		}
		for _, o := range operations {
			if promised[o.Name].RetentionSeconds != o.Retention.Seconds() {
				t.Errorf("%s: got %+v", o.Name, promised[o.Name])
			}
		}
		if len(promised) != len(operations) || promised["confirm-quote.v1"].Key.From != "token" || promised["note-payment.v1"].Key.From != "request" {
			t.Errorf("got %+v, want %d operations", promised, len(operations))
		}
		orders, api := promised["create-order.v1"], promised["create-api-order.v1"]
		if orders.WaitSeconds != 1 || orders.RetentionSeconds != 86400 || orders.Problems["key_reused"] != 422 || orders.Problems["in_flight"] != 503 {
			t.Errorf("/orders: got %+v", orders)
		}
		if api.WaitSeconds != 0 || api.Key.BytesMax != 128 || api.Problems["40902"] != 409 || api.Problems["40901"] != 409 {
			t.Errorf("/api/orders: got %+v", api)
		}
	})
}

// broken panics where a database would read.
type broken struct{ Database[int] }

func TestAPanicIsA500ProblemWithoutAWordOfTheInside(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	engine := must(onceward.New(memstore.New(func() int { return 0 }), onceward.Options{}))(t)
	handler, _, err := New(engine, Database[int](broken{}), Options{
		Callers: DemoCallers(), Logger: slog.New(slog.NewTextHandler(&synced{to: &log}, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*http.Request{
		httptest.NewRequest("GET", "/orders", nil),
		httptest.NewRequest("POST", "/orders", strings.NewReader(book)),
	} {
		r.Header.Set("Authorization", "Bearer "+alice)
		r.Header.Set("Idempotency-Key", "my-secret-key")
		got := httptest.NewRecorder()
		handler.ServeHTTP(got, r)
		answer{got.Code, got.Result().Header, got.Body.String()}.want(t, 500, "internal")
		for _, secret := range []string{"nil pointer", "goroutine", ".go:"} {
			if strings.Contains(got.Body.String(), secret) {
				t.Errorf("%s: the answer tells %q: %s", r.Method, secret, got.Body)
			}
		}
	}
	if n := strings.Count(log.String(), "a request failed"); n != 2 || strings.Contains(log.String(), "my-secret-key") {
		t.Errorf("the log has %d failures, want 2 and no key:\n%s", n, log.String())
	}
}

// synced is a writer for many goroutines.
type synced struct {
	mu sync.Mutex
	to io.Writer
}

func (s *synced) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}
