// Package openapitest holds the shop against its description, shop/openapi.yaml: it is read as every client generator reads
// it. It is a module of its own, so that the shop needs no validator.
package openapitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/onceward/onceward/shop"
)

// described is the shop on an SQLite file, beside its description as the shop serves it.
type described struct {
	t      *testing.T
	shop   http.Handler
	doc    *openapi3.T
	routes routers.Router
	seen   map[string]bool // operations that were answered with what is asked for
}

func open(t *testing.T) *described {
	s := must(shop.Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"), shop.Options{Callers: shop.DemoCallers()}))(t)
	working, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { s.Run(working) })
	t.Cleanup(func() {
		stop()
		background.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &described{t: t, shop: s.Handler, seen: map[string]bool{}}
	answer := d.answer(httptest.NewRequest("GET", "/openapi.yaml", http.NoBody))
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "application/yaml" {
		t.Fatalf("the description is served with %d as %s", answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	d.doc = must(openapi3.NewLoader().LoadFromIoReader(answer.Body))(t)
	if err := d.doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	without := *d.doc
	without.Servers = nil // the requests here have none
	d.routes = must(legacy.NewRouter(&without))(t)
	return d
}

func (d *described) answer(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	d.shop.ServeHTTP(w, r)
	return w.Result()
}

// TestContract: what the description says of an operation is what the shop promises.
func TestContract(t *testing.T) {
	t.Parallel()
	d := open(t)
	var promised struct{ Operations []map[string]any }
	must(0, json.NewDecoder(d.answer(httptest.NewRequest("GET", "/.well-known/idempotency", http.NoBody)).Body).Decode(&promised))(t)
	said := map[any]any{}
	for _, path := range d.doc.Paths.Map() {
		for _, operation := range path.Operations() {
			if contract, there := operation.Extensions["x-idempotency"].(map[string]any); there {
				said[contract["operation"]] = contract
			}
		}
	}
	if len(said) != len(promised.Operations) {
		t.Errorf("%d operations have x-idempotency, and %d are promised", len(said), len(promised.Operations))
	}
	for _, contract := range promised.Operations {
		if got := said[contract["operation"]]; !reflect.DeepEqual(got, any(contract)) {
			t.Errorf("of %s the description says\n%v\nand the shop promises\n%v", contract["operation"], got, contract)
		}
	}
}

// send sends a request of alice's that the description must allow, and an answer that it must describe; want is its status.
// The answer's members are returned as text.
func (d *described) send(want int, request, body string, fields ...string) map[string]string {
	d.t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer demo-acme-alice")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Set(name, value)
	}
	route, values, err := d.routes.FindRoute(r)
	if err != nil {
		d.t.Fatalf("%s: %v", request, err)
	}
	asked := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: values, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	if err := openapi3filter.ValidateRequest(d.t.Context(), asked); err != nil && want < 300 {
		d.t.Errorf("%s %s: %v", request, body, err)
	}
	r.Body = io.NopCloser(strings.NewReader(body)) // the validator has read it
	got := d.answer(r)
	data := must(io.ReadAll(got.Body))(d.t)
	if got.StatusCode != want {
		d.t.Fatalf("%s %s is answered with %d %s, want %d", request, body, got.StatusCode, data, want)
	}
	err = openapi3filter.ValidateResponse(d.t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: asked, Status: got.StatusCode, Header: got.Header, Body: io.NopCloser(bytes.NewReader(data)), Options: asked.Options,
	})
	if err != nil {
		d.t.Errorf("%s: the answer %s is not what is described: %v", request, data, err)
	}
	if want < 300 {
		d.seen[route.Operation.OperationID] = true
	}
	return d.members(route.Operation, want, data)
}

// members also looks whether a problem's code is among those that are told.
func (d *described) members(operation *openapi3.Operation, status int, data []byte) map[string]string {
	d.t.Helper()
	var members map[string]any
	if json.Unmarshal(data, &members) != nil {
		return nil
	}
	texts := map[string]string{}
	for name, value := range members {
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	if status < 400 || slices.Contains([]string{"unauthenticated", "body_invalid"}, texts["code"]) {
		return texts
	}
	for _, where := range []any{operation.Extensions["x-problems"], d.problems(operation)} {
		if told, _ := where.(map[string]any); told[texts["code"]] != nil {
			if told[texts["code"]] != float64(status) {
				d.t.Errorf("%s: %s is described as %v, and is %d", operation.OperationID, texts["code"], told[texts["code"]], status)
			}
			return texts
		}
	}
	d.t.Errorf("%s: the problem %s is not described", operation.OperationID, texts["code"])
	return texts
}

func (*described) problems(operation *openapi3.Operation) any {
	contract, _ := operation.Extensions["x-idempotency"].(map[string]any)
	return contract["problems"]
}

// TestEveryOperation asks for each of the operations that are described.
func TestEveryOperation(t *testing.T) {
	t.Parallel()
	d := open(t)
	key := "Idempotency-Key: k"
	order := d.send(201, "POST /orders", `{"sku":"BOOK","quantity":2}`, key)["id"]
	d.send(201, "POST /orders", `{"sku":"BOOK","quantity":2}`, key)
	d.send(422, "POST /orders", `{"sku":"BOOK","quantity":3}`, key)
	d.send(400, "POST /orders", `{"sku":"BOOK","quantity":2}`)
	d.send(401, "GET /orders", "", "Authorization: none")
	d.send(200, "GET /orders?limit=10", "")
	d.send(200, "GET /orders/"+order, "")
	d.send(404, "GET /orders/01a23248-ec4e-7b07-812f-57a0bae1a016", "")
	d.send(200, "GET /idempotency/create-order.v1", "", key)
	d.send(404, "GET /idempotency/create-order.v1", "", "Idempotency-Key: other")
	d.send(201, "POST /api/orders", `{"userId":1,"skuId":9001,"quantity":2}`, key)

	d.send(409, "POST /refunds", `{"orderId":"`+order+`","amountCents":100}`, key)
	d.send(409, "POST /orders/"+order+"/shipments", `{"actionNo":"S1","carrier":"DHL","trackingNo":"T1"}`)
	d.send(201, "POST /payments/notifications", `{"channel":"A","merchantId":"M1","paymentNo":"P1","orderId":"`+order+`","amountCents":19800}`)
	d.send(409, "POST /payments/notifications", `{"channel":"A","merchantId":"M1","paymentNo":"P1","orderId":"`+order+`","amountCents":1}`)
	d.send(409, "POST /orders/"+order+"/cancel", "")
	refund := d.send(201, "POST /refunds", `{"orderId":"`+order+`","amountCents":100}`, key)["id"]
	d.send(200, "GET /refunds/"+refund, "")
	d.send(201, "POST /orders/"+order+"/shipments", `{"actionNo":"S1","carrier":"DHL","trackingNo":"T1"}`)
	d.send(409, "POST /orders/"+order+"/shipments", `{"actionNo":"S2","carrier":"DHL","trackingNo":"T1"}`)

	other := d.send(201, "POST /orders", `{"sku":"BOOK","quantity":2,"checkoutRef":"C1"}`, "Idempotency-Key: other")["id"]
	d.send(409, "POST /orders", `{"sku":"BOOK","quantity":2,"checkoutRef":"C1"}`, "Idempotency-Key: third")
	d.send(409, "POST /orders/"+other+"/reopen", "")
	d.send(200, "POST /orders/"+other+"/cancel", `{"round":1}`)
	d.send(200, "POST /orders/"+other+"/reopen", "")
	d.send(200, "GET /orders/"+other, "") // with its round

	d.send(200, "GET /coupons/"+d.send(201, "POST /coupons", `{"campaign":"SPRING"}`, key)["id"], "")
	d.send(200, "GET /tasks/"+d.send(201, "POST /tasks", `{"title":"Call the customer"}`, key)["id"], "")

	const email = "/users/alice/preferences/email-notifications"
	d.send(200, "PUT "+email, `{"enabled":false}`)
	d.send(412, "PUT "+email, `{"enabled":true}`, `If-Match: "0"`)
	d.send(200, "GET "+email, "")

	export := d.send(202, "POST /exports", `{"report":"orders","month":"2026-12","format":"csv"}`)["id"]
	for until := time.Now().Add(time.Minute); d.send(200, "GET /exports/"+export, "")["state"] != "completed"; {
		if time.Now().After(until) {
			t.Fatal("the export is not completed")
		}
	}
	d.send(200, "GET /exports/"+export+"/file", "")
	d.send(404, "GET /exports/01a23248-ec4e-7b07-812f-57a0bae1a016/file", "")

	quote := d.send(201, "POST /quotes", `{"sku":"BOOK","quantity":2}`)
	path, second := "/quotes/"+quote["quoteId"], d.send(201, "POST /quotes/"+quote["quoteId"]+"/tokens", "")["token"]
	d.send(404, "POST "+path+"/confirm", `{"token":"a-guess"}`)
	d.send(201, "POST "+path+"/confirm", `{"token":"`+quote["token"]+`"}`)
	d.send(409, "POST "+path+"/confirm", `{"token":"`+second+`"}`)

	d.send(200, "GET /healthz", "")
	d.send(200, "GET /.well-known/idempotency", "")
	d.send(200, "GET /openapi.yaml", "")
	for path, item := range d.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if !d.seen[operation.OperationID] {
				t.Errorf("%s %s was not asked for", method, path)
			}
		}
	}
}

// TestEveryRouteIsDescribed asks the shop for the methods of each path that is described.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	d := open(t)
	for path, item := range d.doc.Paths.Map() {
		r := httptest.NewRequest("OPTIONS", strings.NewReplacer("{", "", "}", "").Replace(path), http.NoBody)
		var described []string
		for method := range item.Operations() {
			described = append(described, method)
		}
		var taken []string
		for method := range strings.SplitSeq(d.answer(r).Header.Get("Allow"), ", ") {
			if method != "HEAD" && method != "OPTIONS" {
				taken = append(taken, method)
			}
		}
		slices.Sort(described)
		if !slices.Equal(described, taken) {
			t.Errorf("%s takes %v, and %v are described", path, taken, described)
		}
	}
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
