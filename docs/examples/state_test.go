package examples

import (
	"context"
	"database/sql"
	"errors"
	"net/http"

	"github.com/onceward/onceward/httponce"
)

// cancel needs no record: the order's state says whether it was cancelled. Exactly one request can have changed it, and does
// what comes with that. There is no door either, so that asking who it is falls to the handler.
func cancel(s *service) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := caller(r)
		if err != nil {
			reply(w, r, errWho, nil)
			return
		}
		answer, err := cancelOrder(r.Context(), s.db, who.Tenant, r.PathValue("id"))
		reply(w, r, answer, err)
	}
}

func cancelOrder(ctx context.Context, db *sql.DB, tenant, id string) (*httponce.Answer, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	result, err := tx.ExecContext(ctx, `UPDATE orders SET state = 'cancelled' WHERE tenant = ? AND id = ? AND state = 'pending'`, tenant, id)
	if err != nil {
		return nil, err
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return nil, err
	case n == 0: // not by this request: read, and decide
		return cancelledBefore(ctx, tx, tenant, id)
	}
	if _, err := tx.ExecContext(ctx, `UPDATE stock SET available = available + 1`); err != nil {
		return nil, err
	}
	return &httponce.Answer{Body: map[string]string{"state": "cancelled"}}, tx.Commit()
}

func cancelledBefore(ctx context.Context, tx *sql.Tx, tenant, id string) (*httponce.Answer, error) {
	var state string
	err := tx.QueryRowContext(ctx, `SELECT state FROM orders WHERE tenant = ? AND id = ?`, tenant, id).Scan(&state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return httponce.Refuse(http.StatusNotFound, httponce.Problem{Code: "order_unknown"}), nil
	case err != nil:
		return nil, err
	case state != "cancelled":
		return httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "order_" + state}), nil
	}
	return &httponce.Answer{Body: map[string]string{"state": "cancelled"}}, nil
}

func Example_state() {
	s := start(`CREATE TABLE orders (tenant TEXT, id TEXT, state TEXT); INSERT INTO orders VALUES ('acme', '911001', 'pending'), ('acme', '911002', 'paid');
		CREATE TABLE stock (available INTEGER)`)
	defer s.stop()
	s.mux.Handle("POST /orders/{id}/cancel", cancel(s))

	s.send("POST /orders/911001/cancel", "")
	s.send("POST /orders/911001/cancel", "")
	s.send("POST /orders/911002/cancel", "")
	s.send("POST /orders/911003/cancel", "")
	// Output:
	// 200 {"state":"cancelled"}
	// 200 {"state":"cancelled"}
	// 409 order_paid
	// 404 order_unknown
}
