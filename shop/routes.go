package shop

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/onceward/onceward/httponce"
)

// routes are all that the shop answers.
func (s *service[Tx]) routes(checkouts, purchases, quotes *httponce.Door[Tx]) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/orders", methods{
		http.MethodGet:  s.authenticated(s.list),
		http.MethodPost: httponce.JSON(checkouts, createOrder, s.checkoutOnce),
	})
	mux.Handle("/orders/{id}", methods{http.MethodGet: s.authenticated(s.get)})
	mux.Handle("/orders/{id}/cancel", methods{http.MethodPost: plain(s, cancelOrder, s.cancel)})
	mux.Handle("/orders/{id}/reopen", methods{http.MethodPost: plain(s, reopenOrder, s.reopen)})
	mux.Handle("/api/orders", methods{http.MethodPost: httponce.JSON(purchases, createAPIOrder, s.purchaseOnce)})
	mux.Handle("/quotes", methods{http.MethodPost: plain(s, createQuote, s.quote)})
	mux.Handle("/quotes/{id}/tokens", methods{http.MethodPost: plain(s, createQuoteToken, s.quoteToken)})
	mux.Handle("/quotes/{id}/confirm", methods{http.MethodPost: httponce.JSONBy(quotes, s.confirm, tokenOf, s.confirmOnce)})
	mux.Handle(httponce.ContractPath, methods{http.MethodGet: httponce.Contract(checkouts, purchases, quotes)})
	mux.Handle(httponce.LookupPath, methods{http.MethodGet: httponce.Lookup(checkouts, purchases, quotes)})
	mux.Handle("/healthz", methods{http.MethodGet: http.HandlerFunc(healthy)})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { send(w, errNoRoute) })
	return s.recovered(mux)
}

var errNoRoute = refuse(http.StatusNotFound, "route_unknown", "There is nothing here",
	"The shop answers /orders, /orders/{id}, /orders/{id}/cancel, /orders/{id}/reopen, /quotes, /quotes/{id}/tokens, /quotes/{id}/confirm, /api/orders, /idempotency/{operation}, /healthz and "+httponce.ContractPath+".")

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

// healthy answers once the shop serves.
func healthy(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, "application/json", map[string]string{"status": "ok"})
}
