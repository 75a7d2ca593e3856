package shop

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// shipOrder is POST /orders/{id}/shipments (R3.3). The number of a shipping action is the tenant's: two people who register
// it have registered one action.
var shipOrder = &onceward.Operation{Name: "ship-order.v1", Retention: 30 * 24 * time.Hour, Per: onceward.Tenant, Wait: time.Second}

var (
	errAlreadyShipped = refuse(http.StatusConflict, "already_shipped", "The order is shipped already",
		"Another shipping action has shipped it; nothing was changed.")
	errActionMismatch = refuse(http.StatusConflict, "action_mismatch", "This was requested before with other content",
		"This actionNo stands for another order, carrier or tracking number. Nothing was changed.")
)

// shipmentStatuses are this API's words for an action whose number was sent with other content.
var shipmentStatuses = httponce.Statuses{Reused: http.StatusConflict, ReusedCode: "action_mismatch"}

// shipment is what is registered, and what is answered.
type shipment struct {
	OrderID    string `json:"orderId"`
	ActionNo   string `json:"actionNo"`
	Carrier    string `json:"carrier"`
	TrackingNo string `json:"trackingNo"`
}

// UnmarshalJSON refuses what is no shipment, and names what is wrong.
func (s *shipment) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	s.ActionNo = body.text("actionNo", referenceForm, referenceRule)
	s.Carrier = body.text("carrier", referenceForm, referenceRule)
	s.TrackingNo = body.text("trackingNo", referenceForm, referenceRule)
	return body.err()
}

func actionKey(_ *http.Request, in shipment) (string, error) { return in.ActionNo, nil }

// shipOnce is the work of POST /orders/{id}/shipments. The action's number says which action this is, and the condition
// on the state that an order is shipped by one action only; both outlive the record.
func (s *service[Tx]) shipOnce(ctx context.Context, tx Tx, in shipment) (*httponce.Answer, error) {
	call := httponce.CallFrom(ctx)
	id, err := orderID(call.Request)
	if err != nil {
		return nil, err
	}
	in.OrderID = id.String()
	added, err := s.db.Insert(ctx, tx, "shipments", "tenant, action_no, order_id, carrier, tracking_no, principal",
		call.Scope.Tenant, in.ActionNo, in.OrderID, in.Carrier, in.TrackingNo, call.Scope.Principal)
	switch {
	case err != nil:
		return nil, err
	case added:
		err = s.shipped(ctx, tx, call.Scope.Tenant, in.OrderID)
	default:
		err = s.firstShipment(ctx, tx, call.Scope.Tenant, in)
	}
	if err != nil {
		return nil, err
	}
	return httponce.Created("/orders/"+in.OrderID, in), nil
}

// shipped moves the order on, if it is paid.
func (s *service[Tx]) shipped(ctx context.Context, tx Tx, tenant, orderID string) error {
	moved, err := s.db.Exec(ctx, tx, `UPDATE orders SET status = ? WHERE tenant = ? AND id = ? AND status = ?`,
		statusShipped, tenant, orderID, statusPaid)
	if err != nil || moved == 1 {
		return err
	}
	return s.notShippable(ctx, tx, tenant, orderID)
}

// notShippable says why an order cannot be shipped, and of another tenant's order only what is said of one that is not there.
func (s *service[Tx]) notShippable(ctx context.Context, tx Tx, tenant, orderID string) error {
	order, err := lockOrder(ctx, s.db, tx, "tenant = ? AND id = ?", tenant, orderID)
	switch {
	case err != nil:
		return err
	case order == nil:
		return errNoOrder
	case order.Status == statusShipped:
		return errAlreadyShipped
	}
	return errOrderNotPaid
}

// firstShipment tells whether the action that stands under in's number is the same. If there is none, the order is
// another action's.
func (s *service[Tx]) firstShipment(ctx context.Context, tx Tx, tenant string, in shipment) error {
	first := shipment{ActionNo: in.ActionNo}
	err := s.db.Row(ctx, tx, `SELECT order_id, carrier, tracking_no FROM shipments WHERE tenant = ? AND action_no = ?`, tenant, in.ActionNo).
		Scan(&first.OrderID, &first.Carrier, &first.TrackingNo)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return s.notShippable(ctx, tx, tenant, in.OrderID)
	case err == nil && first != in:
		return errActionMismatch
	}
	onceward.WroteNothing(ctx)
	return err
}
