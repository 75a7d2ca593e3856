package shop

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
)

func TestUnauthenticatedIs401BeforeAnythingElse(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		p := db.start()
		for _, authorization := range []string{"", "Bearer", "Bearer ", "Bearer nobody", "Basic " + alice, alice, "Bearer " + alice + "x", "Bearer " + alice + " x"} {
			for _, r := range []request{
				{method: "POST", path: "/orders", body: "{", keys: []string{"a", "b"}},
				{method: "POST", path: "/api/orders"},
				{method: "GET", path: "/orders"},
				{method: "GET", path: "/orders/x"},
			} {
				if authorization != "" {
					r.header = map[string]string{"Authorization": authorization}
				}
				got := p.send(r)
				got.want(t, 401, "unauthenticated")
				if !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("WWW-Authenticate is %q", got.header.Get("WWW-Authenticate"))
				}
			}
		}
		db.wantRows(0, 0)
		p.send(request{method: "GET", path: "/orders", header: map[string]string{"Authorization": "bearer  " + alice}}).want(t, 200, "")
	})
}

func TestR2_1_ARetryIsAuthenticatedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		var revoked atomic.Bool
		callers := DemoCallers()
		p := db.startWith(Options{Callers: func(token string) (onceward.Scope, bool) {
			caller, ok := callers(token)
			return caller, ok && !revoked.Load()
		}})
		p.post("/orders", alice, "k", book).want(t, 201, "")
		revoked.Store(true)
		p.post("/orders", alice, "k", book).want(t, 401, "unauthenticated")
	})
}

func TestR2_1_ARetryIsAuthorisedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		var forbidden atomic.Bool
		p := db.startWith(Options{Callers: DemoCallers(), Authorize: func(*http.Request, onceward.Command) error {
			if forbidden.Load() {
				return errors.New("not any more")
			}
			return nil
		}})
		first := p.post("/api/orders", alice, "k", two)
		forbidden.Store(true)
		p.post("/api/orders", alice, "k", two).want(t, 403, "forbidden")                                   // replay
		p.post("/api/orders", alice, "k", `{"userId":1,"skuId":9,"quantity":1}`).want(t, 403, "forbidden") // conflict
		forbidden.Store(false)
		p.post("/api/orders", alice, "k", two).wantReplayed(t, first)
	})
}

func TestTheLogHasNeitherKeysNorPayloadsNorTokens(t *testing.T) {
	onEach(t, func(t *testing.T, db *database) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&synced{to: &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		p := db.startWith(Options{Callers: DemoCallers(), Logger: logger})
		body := `{"sku":"SECRET-SKU","quantity":2,"checkoutRef":"secret-ref"}`
		p.post("/orders", alice, "secret-key", body).want(t, 201, "")
		p.post("/orders", alice, "secret-key", body).want(t, 201, "")
		p.post("/orders", alice, "secret-key", `{"sku":"SECRET-SKU","quantity":3}`).want(t, 422, "key_reused")
		p.post("/orders", alice, "secret-two", body).want(t, 409, "checkout_already_ordered")
		db.exec("DROP TABLE orders")
		p.post("/orders", alice, "secret-three", body).want(t, 500, "internal")
		p.get("/orders", alice).want(t, 503, "unavailable")
		p.end()
		text := log.String()
		if !strings.Contains(text, "step=save") || !strings.Contains(text, "a request failed") {
			t.Errorf("the log lacks what happened:\n%s", text)
		}
		if strings.Contains(strings.ToLower(text), "secret") || strings.Contains(text, alice) {
			t.Errorf("the log tells too much:\n%s", text)
		}
	})
}
