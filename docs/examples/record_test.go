package examples

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/sqlstore"
)

var shipOrder = &onceward.Operation{Name: "ship-order.v1", Retention: 90 * 24 * time.Hour, Per: onceward.Tenant, Wait: time.Second}

type shipment struct {
	ActionNo string `json:"actionNo"`
	Carrier  string `json:"carrier"`
}

// Validate refuses what names no action.
func (s shipment) Validate() error {
	if s.ActionNo == "" {
		return errors.New("actionNo is needed")
	}
	return nil
}

func actionNo(_ *http.Request, in shipment) (string, error) { return in.ActionNo, nil }

// shipOnce has two guards: the action's number says that this is the same action, and the condition on the state that an
// order is shipped by one action only.
func shipOnce(ctx context.Context, tx sqlstore.Tx, in shipment) (*httponce.Answer, error) {
	call := httponce.CallFrom(ctx)
	result, err := tx.ExecContext(ctx, `UPDATE orders SET state = 'shipped', carrier = ? WHERE tenant = ? AND id = ? AND state = 'paid'`,
		in.Carrier, call.Scope.Tenant, call.Request.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "not_to_be_shipped"}), err
	}
	return &httponce.Answer{Status: http.StatusCreated, Body: in}, nil
}

func Example_executionRecord() {
	s := start(`CREATE TABLE orders (tenant TEXT, id TEXT, state TEXT, carrier TEXT); INSERT INTO orders VALUES ('acme', '911001', 'paid', '')`)
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
	// 409 not_to_be_shipped
}
