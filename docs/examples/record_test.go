package examples

import (
	"context"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/sqlstore"
)

var shipOrder = &onceward.Operation{Name: "ship-order.v1", Retention: 90 * 24 * time.Hour, Per: onceward.Tenant}

type shipment struct {
	ActionNo string `json:"actionNo"`
	Carrier  string `json:"carrier"`
}

func actionNo(_ *http.Request, in shipment) (string, error) { return in.ActionNo, nil }

// shipOnce has two guards: the action's number says that this is the same action, and the condition on the state that an
// order is shipped by one action only.
func shipOnce(ctx context.Context, tx sqlstore.Tx, in shipment) (*httponce.Answer, error) {
	result, err := tx.ExecContext(ctx, `UPDATE orders SET state = 'shipped', carrier = ? WHERE id = ? AND state = 'paid'`,
		in.Carrier, httponce.CallFrom(ctx).Request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "already_shipped"}), err
	}
	return &httponce.Answer{Status: http.StatusCreated, Body: in}, nil
}

func Example_executionRecord() {
	s := start(`CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT, carrier TEXT); INSERT INTO orders VALUES ('911001', 'paid', '')`)
	defer s.stop()
	s.mux.Handle("POST /orders/{id}/shipments", httponce.JSONBy(s.door, shipOrder, actionNo, shipOnce))

	s.send("POST /orders/911001/shipments", `{"actionNo":"S001","carrier":"DHL"}`)
	s.send("POST /orders/911001/shipments", `{"actionNo":"S001","carrier":"DHL"}`)
	s.send("POST /orders/911001/shipments", `{"actionNo":"S001","carrier":"UPS"}`)
	s.send("POST /orders/911001/shipments", `{"actionNo":"S002","carrier":"UPS"}`)
	// Output:
	// 201 {"actionNo":"S001","carrier":"DHL"}
	// 201 {"actionNo":"S001","carrier":"DHL"} (replayed)
	// 422 key_reused
	// 409 already_shipped
}
