package shop

import (
	_ "embed"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// doors are the shop's: they differ in their words for what was sent twice with other content.
type doors[Tx any] struct {
	keys, purchases, quotes, payments, shipments *httponce.Door[Tx]
}

func newDoors[Tx any](engine *onceward.Engine[Tx], options httponce.Options) (d doors[Tx], err error) {
	for _, door := range []struct {
		into        **httponce.Door[Tx]
		statuses    httponce.Statuses
		keyBytesMax int
	}{
		{into: &d.keys},
		{into: &d.purchases, statuses: apiStatuses, keyBytesMax: apiKeyBytesMax},
		{into: &d.quotes, statuses: quoteStatuses},
		{into: &d.payments, statuses: paymentStatuses},
		{into: &d.shipments, statuses: shipmentStatuses},
	} {
		options.Statuses, options.KeyBytesMax = door.statuses, door.keyBytesMax
		if *door.into, err = httponce.New(engine, options); err != nil {
			return d, err
		}
	}
	return d, nil
}

func (d doors[Tx]) all() []httponce.Contracted {
	return []httponce.Contracted{d.keys, d.purchases, d.quotes, d.payments, d.shipments}
}

// routes are all that the shop answers.
func (s *service[Tx]) routes(d doors[Tx]) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/orders", methods{
		http.MethodGet:  s.authenticated(s.list),
		http.MethodPost: httponce.JSON(d.keys, createOrder, s.checkoutOnce),
	})
	mux.Handle("/orders/{id}", methods{http.MethodGet: s.authenticated(s.get)})
	mux.Handle("/orders/{id}/cancel", methods{http.MethodPost: plain(s, cancelOrder, s.cancel)})
	mux.Handle("/orders/{id}/reopen", methods{http.MethodPost: plain(s, reopenOrder, s.reopen)})
	mux.Handle("/api/orders", methods{http.MethodPost: httponce.JSON(d.purchases, createAPIOrder, s.purchaseOnce)})
	mux.Handle("/orders/{id}/shipments", methods{http.MethodPost: httponce.JSONBy(d.shipments, shipOrder, actionKey, s.shipOnce)})
	mux.Handle("/payments/notifications", methods{http.MethodPost: httponce.JSONBy(d.payments, notePayment, paymentKey, s.paymentOnce)})
	mux.Handle("/coupons", methods{http.MethodPost: httponce.JSON(d.keys, createCoupon, s.couponOnce)})
	mux.Handle("/coupons/{id}", methods{http.MethodGet: s.authenticated(s.getCoupon)})
	mux.Handle("/refunds", methods{http.MethodPost: httponce.JSON(d.keys, createRefund, s.refundOnce)})
	mux.Handle("/refunds/{id}", methods{http.MethodGet: s.authenticated(s.getRefund)})
	mux.Handle("/tasks", methods{http.MethodPost: httponce.JSON(d.keys, createTask, s.taskOnce)})
	mux.Handle("/tasks/{id}", methods{http.MethodGet: s.authenticated(s.getTask)})
	mux.Handle("/users/{id}/preferences/email-notifications", methods{
		http.MethodGet: s.authenticated(s.getEmail),
		http.MethodPut: plain(s, setPreference, s.setEmail),
	})
	mux.Handle("/exports", methods{http.MethodPost: s.woken(httponce.JSON(d.keys, createExport, s.exportOnce))})
	mux.Handle("/exports/{id}", methods{http.MethodGet: s.authenticated(s.getExport)})
	mux.Handle("/exports/{id}/file", methods{http.MethodGet: s.authenticated(s.getFile)})
	mux.Handle("/quotes", methods{http.MethodPost: plain(s, createQuote, s.quote)})
	mux.Handle("/quotes/{id}/tokens", methods{http.MethodPost: plain(s, createQuoteToken, s.quoteToken)})
	mux.Handle("/quotes/{id}/confirm", methods{http.MethodPost: httponce.JSONBy(d.quotes, s.confirm, tokenOf, s.confirmOnce)})
	mux.Handle(httponce.ContractPath, methods{http.MethodGet: httponce.Contract(d.all()...)})
	mux.Handle(httponce.LookupPath, methods{http.MethodGet: httponce.Lookup(d.all()...)})
	mux.Handle("/openapi.yaml", methods{http.MethodGet: http.HandlerFunc(describe)})
	mux.Handle("/healthz", methods{http.MethodGet: http.HandlerFunc(healthy)})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { send(w, errNoRoute) })
	return s.recovered(mux)
}

var errNoRoute = refuse(http.StatusNotFound, "route_unknown", "There is nothing here",
	"GET /openapi.yaml tells what the shop answers.")

// methods are what one path takes. OPTIONS is answered for all paths alike, before anybody is asked who he is: a
// browser's preflight carries neither a token nor a key.
type methods map[string]http.Handler

// ServeHTTP implements http.Handler.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handler, ok := m[method]
	if ok {
		handler.ServeHTTP(w, r)
		return
	}
	allow := m.allow()
	w.Header().Set("Allow", allow)
	if method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	send(w, refuse(http.StatusMethodNotAllowed, "method_not_allowed", "The method is not allowed", "This path takes "+allow+"."))
}

func (m methods) allow() string {
	names := append(slices.Collect(maps.Keys(m)), http.MethodOptions)
	if m[http.MethodGet] != nil {
		names = append(names, http.MethodHead)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

//go:embed openapi.yaml
var description []byte

// describe answers with what the shop answers.
func describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml") // RFC 9512
	_, _ = w.Write(description)                        // the caller may have gone
}

// healthy answers once the shop serves.
func healthy(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
}
