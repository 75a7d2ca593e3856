package shop

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// Coupons, refunds and tasks are made once for each key of the caller's (R1.8).
var (
	createCoupon = &onceward.Operation{Name: "create-coupon.v1", Retention: 24 * time.Hour, Wait: time.Second}
	createRefund = &onceward.Operation{Name: "create-refund.v1", Retention: 24 * time.Hour, Wait: time.Second}
	createTask   = &onceward.Operation{Name: "create-task.v1", Retention: 24 * time.Hour, Wait: time.Second}
)

var (
	errRefundTooLarge = refuse(http.StatusConflict, "refund_exceeds_payment", "That is more than is left of the payment",
		"Nothing was refunded. All refunds of an order together are at most what was paid for it.")
	errOrderNotPaid = refuse(http.StatusConflict, "order_not_paid", "The order is not paid",
		"Wait for the payment. GET /orders/{id} tells the order's status.")
	errNoThing = refuse(http.StatusNotFound, "unknown", "There is no such thing", "The tenant has nothing of this id here.")
)

// coupon, refund and task are what is asked for and what is answered.
type (
	coupon struct {
		ID       string `json:"id"`
		Campaign string `json:"campaign"`
	}
	refund struct {
		ID          string `json:"id"`
		OrderID     string `json:"orderId"`
		AmountCents int64  `json:"amountCents"`
	}
	task struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
)

var (
	campaignForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	titleForm    = regexp.MustCompile(`^[^\p{C}]{1,200}$`)
	uuidForm     = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

const (
	orderIDRule = "the id of an order"
	centsMax    = 1 << 53
	centsRule   = "an integer from 1 to 9007199254740992"
)

// UnmarshalJSON refuses what is no coupon, and names what is wrong.
func (c *coupon) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	c.Campaign = body.text("campaign", campaignForm, skuRule)
	return body.err()
}

// UnmarshalJSON refuses what is no refund, and names what is wrong.
func (f *refund) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	f.OrderID = body.text("orderId", uuidForm, orderIDRule)
	f.AmountCents = body.integer("amountCents", 1, centsMax, centsRule)
	return body.err()
}

// UnmarshalJSON refuses what is no task, and names what is wrong.
func (t *task) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	t.Title = body.text("title", titleForm, "a string of 1 to 200 characters, none of them a control character")
	return body.err()
}

// couponOnce is the work of POST /coupons.
func (s *service[Tx]) couponOnce(ctx context.Context, tx Tx, in coupon) (answer *httponce.Answer, err error) {
	caller := httponce.CallFrom(ctx).Scope
	if in.ID, err = newID(); err != nil {
		return nil, err
	}
	_, err = s.db.Insert(ctx, tx, "coupons", "id, tenant, principal, campaign", in.ID, caller.Tenant, caller.Principal, in.Campaign)
	return httponce.Created("/coupons/"+in.ID, in), err
}

// refundOnce is the work of POST /refunds. One conditional update sees to it that refunds under different keys do not
// exceed the payment together.
func (s *service[Tx]) refundOnce(ctx context.Context, tx Tx, in refund) (answer *httponce.Answer, err error) {
	caller := httponce.CallFrom(ctx).Scope
	if in.ID, err = newID(); err != nil {
		return nil, err
	}
	taken, err := s.db.Exec(ctx, tx, `UPDATE orders SET refunded_cents = refunded_cents + ?
		WHERE tenant = ? AND id = ? AND status IN (?, ?) AND refunded_cents + ? <= amount_cents`,
		in.AmountCents, caller.Tenant, in.OrderID, statusPaid, statusShipped, in.AmountCents)
	if err == nil && taken == 0 {
		err = s.noRefund(ctx, tx, caller, in)
	}
	if err != nil {
		return nil, err
	}
	_, err = s.db.Insert(ctx, tx, "refunds", "id, tenant, principal, order_id, amount_cents",
		in.ID, caller.Tenant, caller.Principal, in.OrderID, in.AmountCents)
	return httponce.Created("/refunds/"+in.ID, in), err
}

// noRefund says why nothing was taken from the order.
func (s *service[Tx]) noRefund(ctx context.Context, tx Tx, caller onceward.Scope, in refund) error {
	order, err := lockOrder(ctx, s.db, tx, "tenant = ? AND id = ?", caller.Tenant, in.OrderID)
	switch {
	case err != nil:
		return err
	case order == nil:
		return errNoOrder
	case order.Status != statusPaid && order.Status != statusShipped:
		return errOrderNotPaid
	}
	return errRefundTooLarge
}

// taskOnce is the work of POST /tasks.
func (s *service[Tx]) taskOnce(ctx context.Context, tx Tx, in task) (answer *httponce.Answer, err error) {
	caller := httponce.CallFrom(ctx).Scope
	if in.ID, err = newID(); err != nil {
		return nil, err
	}
	_, err = s.db.Insert(ctx, tx, "tasks", "id, tenant, principal, title", in.ID, caller.Tenant, caller.Principal, in.Title)
	return httponce.Created("/tasks/"+in.ID, in), err
}

func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// getCoupon, getRefund and getTask answer GET of a thing of the tenant's.
func (s *service[Tx]) getCoupon(w http.ResponseWriter, r *http.Request, caller onceward.Scope) error {
	var c coupon
	return s.getThing(w, r, caller, "id, campaign FROM coupons", func(row Scanner) (any, error) { return &c, row.Scan(&c.ID, &c.Campaign) })
}

func (s *service[Tx]) getRefund(w http.ResponseWriter, r *http.Request, caller onceward.Scope) error {
	var f refund
	return s.getThing(w, r, caller, "id, order_id, amount_cents FROM refunds", func(row Scanner) (any, error) { return &f, row.Scan(&f.ID, &f.OrderID, &f.AmountCents) })
}

func (s *service[Tx]) getTask(w http.ResponseWriter, r *http.Request, caller onceward.Scope) error {
	var t task
	return s.getThing(w, r, caller, "id, title FROM tasks", func(row Scanner) (any, error) { return &t, row.Scan(&t.ID, &t.Title) })
}

func (s *service[Tx]) getThing(w http.ResponseWriter, r *http.Request, caller onceward.Scope, what string, scan func(Scanner) (any, error)) error {
	var found any
	id := r.PathValue("id")
	if !uuidForm.MatchString(id) {
		return errNoThing
	}
	err := s.db.Read(r.Context(), func(row Scanner) (err error) {
		found, err = scan(row)
		return err
	}, `SELECT `+what+` WHERE tenant = ? AND id = ?`, caller.Tenant, id)
	switch {
	case err != nil:
		return err
	case found == nil:
		return errNoThing
	}
	writeJSON(w, http.StatusOK, "application/json", found)
	return nil
}
