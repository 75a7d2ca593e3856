package httponce

import (
	"net/http"

	"github.com/onceward/onceward"
)

// Handle serves an operation by a handler that writes its answer itself. The transaction is the handler's argument; its
// request carries the work's context, and CallFrom(r.Context()) is its Call. A nil error with a status below 400 commits
// and records what was written; a written 4xx or 5xx is answered and rolled back. A returned error is answered in the
// place of what was written: with the *Answer that it is or wraps (so Conclude makes a 4xx final), or the one that
// Options.Failure has for it, or 500.
//
// The handler is called again, with a fresh request and a fresh ResponseWriter, where a store runs a work again.
// Handle panics if the operation is not valid.
func (d *Door[Tx]) Handle(op *onceward.Operation, h func(w http.ResponseWriter, r *http.Request, tx Tx) error) http.Handler {
	return d.route(op, h, http.HandlerFunc(noSafeMethod))
}

// Adapt is Handle for the adapter of a framework that answers its handlers' errors itself, after them: what it returns
// serves a request and returns the handler's error, once it is rolled back and forgotten, with nothing written. That is
// an error that is no *Answer and that Options.Failure does not know, be it a context's or the database's; Options.Report
// is not told of it. The duplicates that waited for the handler get the same error. Whatever else happens is answered,
// and nil is returned.
func (d *Door[Tx]) Adapt(op *onceward.Operation, h func(w http.ResponseWriter, r *http.Request, tx Tx) error) func(w http.ResponseWriter, r *http.Request) error {
	route := d.route(op, h, http.HandlerFunc(noSafeMethod))
	return func(w http.ResponseWriter, r *http.Request) error { return route.pass(w, r, true) }
}

func (d *Door[Tx]) route(op *onceward.Operation, h func(w http.ResponseWriter, r *http.Request, tx Tx) error, safe http.Handler) *route[Tx] {
	d.admit(op, false)
	return &route[Tx]{door: d, operation: op, safe: safe, run: func(tx Tx, v *visit, call *Call) (*reply, error) {
		w := newHeld(v.out.Header(), d.options.AnswerBytesMax)
		if err := h(w, call.Request, tx); err != nil {
			return nil, err
		}
		return w.reply()
	}}
}

// noSafeMethod answers the safe methods on a route that is for changing something. OPTIONS tells what the route takes.
func noSafeMethod(w http.ResponseWriter, r *http.Request) {
	w.Header()["Allow"] = []string{"OPTIONS, POST, PUT, PATCH, DELETE"}
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	methodNotAllowed.answer("").ServeHTTP(w, r)
}
