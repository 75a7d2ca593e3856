package proofs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/onceward/onceward/oncetest"
	"github.com/onceward/onceward/shop"
)

// crashed is an endpoint whose process is killed at every point. In each text {key} is the run's key, and any other name in braces
// the member of that name in an answer to the setup.
type crashed struct {
	call    string   // method and path
	headers []string // besides who is calling: "name: value"
	body    string
	setup   []crashed // requests before it
	effects string    // SQL that counts what one request adds one to
}

var (
	setupOrder   = crashed{call: "POST /orders", headers: []string{"Idempotency-Key: {key}-order"}, body: `{"sku":"BOOK","quantity":2}`}
	setupCancel  = crashed{call: "POST /orders/{id}/cancel"}
	setupPayment = crashed{call: "POST /payments/notifications", body: notification}
	setupQuote   = crashed{call: "POST /quotes", body: `{"sku":"BOOK","quantity":2}`}
)

const notification = `{"channel":"A","merchantId":"M1","paymentNo":"{key}","orderId":"{id}","amountCents":19800}`

// crashes has a row for every endpoint of the shop that promises one effect. A quote, or a token of one, that is asked for twice is
// there twice, and no harm.
var crashes = []crashed{
	{
		call: "POST /orders", headers: []string{"Idempotency-Key: {key}"}, body: `{"sku":"BOOK","quantity":2}`,
		effects: `SELECT count(*) FROM orders`,
	},
	{
		call: "POST /api/orders", headers: []string{"Idempotency-Key: {key}"}, body: `{"userId":1,"skuId":9001,"quantity":2}`,
		effects: `SELECT count(*) FROM orders`,
	},
	{
		call: "POST /orders/{id}/cancel", setup: []crashed{setupOrder},
		effects: `SELECT count(*) FROM cancellations`,
	},
	{
		call: "POST /orders/{id}/reopen", body: `{"round":1}`, setup: []crashed{setupOrder, setupCancel},
		effects: `SELECT sum(round) FROM orders`,
	},
	{
		call: "POST /payments/notifications", body: notification, setup: []crashed{setupOrder},
		effects: `SELECT count(*) FROM payments JOIN orders ON orders.id = order_id WHERE orders.status = 'paid'`,
	},
	{
		call: "POST /orders/{orderId}/shipments", body: `{"actionNo":"{key}","carrier":"DHL","trackingNo":"T1"}`, setup: []crashed{setupOrder, setupPayment},
		effects: `SELECT count(*) FROM shipments JOIN orders ON orders.id = order_id WHERE orders.status = 'shipped'`,
	},
	{
		call: "POST /coupons", headers: []string{"Idempotency-Key: {key}"}, body: `{"campaign":"SPRING"}`,
		effects: `SELECT count(*) FROM coupons`,
	},
	{
		call: "POST /refunds", headers: []string{"Idempotency-Key: {key}"}, body: `{"orderId":"{orderId}","amountCents":100}`,
		setup:   []crashed{setupOrder, setupPayment},
		effects: `SELECT count(*) FROM refunds JOIN orders ON orders.id = order_id WHERE refunded_cents = 100`,
	},
	{
		call: "POST /tasks", headers: []string{"Idempotency-Key: {key}"}, body: `{"title":"Call the customer"}`,
		effects: `SELECT count(*) FROM tasks`,
	},
	{
		call: "POST /exports", body: `{"report":"orders","month":"2026-12","format":"csv"}`, headers: []string{"Idempotency-Key: {key}"},
		effects: `SELECT count(*) FROM exports`,
	},
	{
		// Each run switches off and on: how often it was switched on is half the version.
		call: "PUT /users/alice/preferences/email-notifications", body: `{"enabled":true}`,
		setup:   []crashed{{call: "PUT /users/alice/preferences/email-notifications", body: `{"enabled":false}`}},
		effects: `SELECT CAST(COALESCE(sum(version - CASE WHEN email_notifications THEN 0 ELSE 1 END), 0) / 2 AS DECIMAL(10, 0)) FROM preferences`,
	},
	{
		call: "POST /quotes/{quoteId}/confirm", body: `{"token":"{token}"}`, setup: []crashed{setupQuote},
		effects: `SELECT count(*) FROM orders`,
	},
}

// TestB11_EveryEndpointKilledAtEveryPoint: each of the shop's writes happens once, wherever its process dies.
func TestB11_EveryEndpointKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	for kind, on := range map[string]func(*testing.T) *database{"postgres": onPostgres, "mariadb": onMariaDB, "sqlite": onSQLite} {
		for _, c := range crashes {
			t.Run(kind+" "+c.call, func(t *testing.T) {
				t.Parallel()
				oncetest.Crash(t, planOf(t, on, openShop, c))
			})
		}
	}
}

func openShop(name string) (http.Handler, error) {
	s, err := shop.Open(context.Background(), name, shop.Options{Callers: shop.DemoCallers()})
	if err != nil {
		return nil, err
	}
	return s.Handler, nil
}

func planOf(t *testing.T, on func(*testing.T) *database, open func(name string) (http.Handler, error), c crashed) oncetest.Plan {
	var db *database
	return oncetest.Plan{
		Database: func() string { db = on(t); return db.name },
		Open:     open,
		Request:  func(run oncetest.Run) *http.Request { return c.request(t, run) },
		Effects:  func(string) (int, error) { return db.number(c.effects), nil },
	}
}

// request makes the request of a run, when all before it are answered.
func (c crashed) request(t *testing.T, run oncetest.Run) *http.Request {
	texts := []string{"{key}", run.Key}
	for _, before := range c.setup {
		var members map[string]any
		if err := json.NewDecoder(run.Send(before.fill(texts)).Body).Decode(&members); err != nil {
			t.Fatal(err)
		}
		for name, value := range members {
			texts = append([]string{"{" + name + "}", fmt.Sprint(value)}, texts...) // the latest answer comes first
		}
	}
	return c.fill(texts)
}

func (c crashed) fill(texts []string) *http.Request {
	filled := strings.NewReplacer(texts...)
	method, path, _ := strings.Cut(filled.Replace(c.call), " ")
	r := httptest.NewRequest(method, path, strings.NewReader(filled.Replace(c.body)))
	r.Header.Set("Authorization", "Bearer "+alice)
	r.Header.Set("Content-Type", "application/json")
	for _, header := range c.headers {
		name, value, _ := strings.Cut(filled.Replace(header), ": ")
		r.Header.Set(name, value)
	}
	return r
}
