package shop

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// Cancelling and re-opening an order have no record: the order's own state tells whether they were done (R3.2). The names
// are for Options.Authorize.
var (
	cancelOrder = &onceward.Operation{Name: "cancel-order.v1"}
	reopenOrder = &onceward.Operation{Name: "reopen-order.v1"}
)

var (
	errOrderPaid = refuse(http.StatusConflict, "order_paid", "The order is paid",
		"A paid order is not cancelled. Ask for a refund: POST /refunds.")
	errOrderNotPending = refuse(http.StatusConflict, "order_not_pending", "The order is not waiting for its payment",
		"Look at the order: GET /orders/{id} tells its status.")
	errOrderNotCancelled = refuse(http.StatusConflict, "order_not_cancelled", "The order is not cancelled",
		"Only a cancelled order is opened again.")
	errRoundOver = refuse(http.StatusConflict, "round_over", "The order is in another round",
		"The round that is named is not the order's present one. Look at the order: GET /orders/{id} tells its round, if that is not the first.")
)

// roundRule bounds how often an order is opened.
const roundRule = "an integer from 1 to 1000000, or be left out"

// transition is the body of a request that moves an order to another state. A late retry that names the round it was meant
// for does not touch the next one.
type transition struct {
	round int64 // 0: the present one
}

// UnmarshalJSON refuses what is no transition, and names what is wrong.
func (t *transition) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	if _, there := body.left["round"]; there {
		t.round = body.integer("round", 1, 1_000_000, roundRule)
	}
	return body.err()
}

// cancel is POST /orders/{id}/cancel. The conditional update decides, and exactly one request can have changed the row: it
// writes the log and gives the stock back. Another one reads what the order has become, and is told.
func (s *service[Tx]) cancel(ctx context.Context, tx Tx, r *http.Request, caller onceward.Scope, in transition) (*httponce.Answer, error) {
	id, err := orderID(r)
	if err != nil {
		return nil, err
	}
	cancelled, err := s.db.Exec(ctx, tx, `UPDATE orders SET status = ?
		WHERE tenant = ? AND id = ? AND status IN (?, ?) AND (round = ? OR ? = 0)`,
		statusCancelled, caller.Tenant, id.String(), statusAccepted, statusCreated, in.round, in.round)
	if err != nil {
		return nil, err
	}
	order, err := lockOrder(ctx, s.db, tx, "tenant = ? AND id = ?", caller.Tenant, id.String())
	switch {
	case err != nil:
		return nil, err
	case order == nil:
		return nil, errNoOrder
	case cancelled == 1:
		err = s.cancelled(ctx, tx, order, caller)
	case in.round != 0 && in.round != order.Round:
		err = errRoundOver
	case order.Status == statusCancelled: // by an earlier request
	case order.Status == statusPaid:
		err = errOrderPaid
	default:
		err = errOrderNotPending
	}
	if err != nil {
		return nil, err
	}
	return &httponce.Answer{Body: orderNow(order)}, nil
}

// cancelled is what comes with the one change of state.
func (s *service[Tx]) cancelled(ctx context.Context, tx Tx, o *Order, caller onceward.Scope) error {
	_, err := s.db.Insert(ctx, tx, "cancellations", "order_id, round, tenant, principal", o.ID.String(), o.Round, caller.Tenant, caller.Principal)
	if err != nil || !o.Reserved {
		return err
	}
	return release(ctx, s.db, tx, o)
}

// reopen is POST /orders/{id}/reopen: a cancelled order waits for its payment again, in its next round.
func (s *service[Tx]) reopen(ctx context.Context, tx Tx, r *http.Request, caller onceward.Scope, in transition) (*httponce.Answer, error) {
	id, err := orderID(r)
	if err != nil {
		return nil, err
	}
	order, err := lockOrder(ctx, s.db, tx, "tenant = ? AND id = ?", caller.Tenant, id.String())
	switch {
	case err != nil:
		return nil, err
	case order == nil:
		return nil, errNoOrder
	case in.round != 0 && order.Round == in.round+1 && order.Status != statusCancelled: // by an earlier request
		return &httponce.Answer{Body: orderNow(order)}, nil
	case in.round != 0 && in.round != order.Round:
		return nil, errRoundOver
	case order.Status != statusCancelled:
		return nil, errOrderNotCancelled
	}
	if order.Reserved, err = reserve(ctx, s.db, tx, order.Owner.Tenant, order.SKU, order.Quantity); err != nil {
		return nil, err
	}
	order.Status, order.Round = statusAccepted, order.Round+1
	_, err = s.db.Exec(ctx, tx, `UPDATE orders SET status = ?, round = ?, reserved = ? WHERE id = ?`,
		order.Status, order.Round, order.Reserved, order.ID.String())
	if err != nil {
		return nil, err
	}
	return &httponce.Answer{Body: orderNow(order)}, nil
}

// orderID is the order that a request's path names.
func orderID(r *http.Request) (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil || id.String() != r.PathValue("id") { // Parse takes other forms too
		return id, errNoOrder
	}
	return id, nil
}
