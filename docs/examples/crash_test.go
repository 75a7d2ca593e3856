package examples

import (
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/oncetest"
	"github.com/onceward/onceward/sqlitestore"
)

func TestOrdersSurviveCrashes(t *testing.T) {
	oncetest.Crash(t, oncetest.Plan{
		Database: func() string { return filepath.Join(t.TempDir(), "shop.db") }, // or postgres://…, mysql://…
		Open:     openShop,
		Request: func(run oncetest.Run) *http.Request {
			r := httptest.NewRequest("POST", "/orders", strings.NewReader(`{"sku":"BOOK","quantity":2}`))
			r.Header.Set("Authorization", "Bearer alice")
			r.Header.Set("Idempotency-Key", run.Key)
			return r
		},
		Effects: countOrders,
	})
}

// openShop is what main does when the service starts.
func openShop(path string) (http.Handler, error) {
	s := open(path, `CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, sku TEXT, quantity INTEGER)`)
	s.mux.Handle("POST /orders", httponce.JSON(s.door, placeOrder, placeOrderOnce))
	return s.mux, nil
}

func countOrders(path string) (n int, err error) {
	db := must(sql.Open("sqlite", must(sqlitestore.Source(path))))
	defer db.Close()
	return n, db.QueryRow(`SELECT count(*) FROM orders`).Scan(&n)
}
