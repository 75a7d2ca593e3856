package oncetest_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/oncetest"
)

// The service under test: how it starts, and how a test counts its orders.
var (
	openShop    func(database string) (http.Handler, error)
	countOrders func(database string) (int, error)
)

// A test of the service's own. It is the whole of it.
func ExampleCrash() {
	_ = func(t *testing.T) { // func TestOrdersSurviveCrashes(t *testing.T)
		oncetest.Crash(t, oncetest.Plan{
			Database: func() string { return filepath.Join(t.TempDir(), "shop.db") }, // or postgres://…
			Open:     openShop,
			Request: func(run oncetest.Run) *http.Request {
				r := httptest.NewRequest("POST", "/orders", strings.NewReader(`{"sku":"BOOK","quantity":2}`))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Idempotency-Key", run.Key)
				return r
			},
			Effects: countOrders,
		})
	}
	// Output:
}
