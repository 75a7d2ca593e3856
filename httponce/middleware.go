package httponce

import (
	"context"
	"net/http"

	"github.com/onceward/onceward"
)

type txKey[Tx any] struct{}

// Middleware puts the door before handlers that were written without it. They find the transaction with TxFrom; one that
// forgets it and writes elsewhere is noticed by the engine, where the store can tell. Safe methods and preflights reach
// next untouched, without a transaction. What next writes is treated as that of a handler of Handle that returns nil.
// Middleware panics if the operation is not valid.
func (d *Door[Tx]) Middleware(op *onceward.Operation) func(next http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return d.route(op, func(w http.ResponseWriter, r *http.Request, tx Tx) error {
			in := r.WithContext(context.WithValue(r.Context(), txKey[Tx]{}, tx))
			defer func() { r.MultipartForm = in.MultipartForm }() // for who removes its files
			next.ServeHTTP(w, in)
			return nil
		}, next)
	}
}

// TxFrom gives the transaction of a request that came through a Middleware of the same Tx; ok is false for any other
// request, the safe methods included. It is dead once the handler has returned.
func TxFrom[Tx any](r *http.Request) (tx Tx, ok bool) {
	tx, ok = r.Context().Value(txKey[Tx]{}).(Tx)
	return tx, ok
}
