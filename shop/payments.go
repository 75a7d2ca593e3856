package shop

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// notePayment is POST /payments/notifications (R3.1). A payment is the tenant's, whoever tells of it.
var notePayment = &onceward.Operation{Name: "note-payment.v1", Retention: 30 * 24 * time.Hour, Per: onceward.Tenant, Wait: time.Second}

var (
	errPaymentMismatch = refuse(http.StatusConflict, "payment_mismatch", "This was requested before with other content",
		"This payment's number stands for another order or amount, or the order for another amount. Nothing was changed.")
	errOrderCancelled = refuse(http.StatusConflict, "order_cancelled", "The order is cancelled",
		"The payment was not taken for it. Open the order again, or give the money back.")
	errOrderPaidOtherwise = refuse(http.StatusConflict, "order_paid", "The order is paid already",
		"Another payment was taken for it. Give this one back.")
)

// paymentStatuses are this API's words for a payment whose number was sent with other content.
var paymentStatuses = httponce.Statuses{Reused: http.StatusConflict, ReusedCode: "payment_mismatch"}

var referenceForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`)

const referenceRule = "a string of 1 to 100 letters, digits, '.', '_', ':' or '-'"

// payment is what a channel tells, and what is answered.
type payment struct {
	ID          string `json:"id"`
	Channel     string `json:"channel"`
	MerchantID  string `json:"merchantId"`
	PaymentNo   string `json:"paymentNo"`
	OrderID     string `json:"orderId"`
	AmountCents int64  `json:"amountCents"`
}

// UnmarshalJSON refuses what tells of no payment, and names what is wrong.
func (p *payment) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	p.Channel = body.text("channel", referenceForm, referenceRule)
	p.MerchantID = body.text("merchantId", referenceForm, referenceRule)
	p.PaymentNo = body.text("paymentNo", referenceForm, referenceRule)
	p.OrderID = body.text("orderId", uuidForm, orderIDRule)
	p.AmountCents = body.integer("amountCents", 1, centsMax, centsRule)
	return body.err()
}

func paymentKey(_ *http.Request, in payment) (string, error) {
	return onceward.KeyOf(in.Channel, in.MerchantID, in.PaymentNo), nil
}

// paymentOnce is the work of POST /payments/notifications. The payment's number is unique in its table too, for ever: a
// notification whose record is gone finds its payment there, and is compared with it.
func (s *service[Tx]) paymentOnce(ctx context.Context, tx Tx, in payment) (answer *httponce.Answer, err error) {
	tenant := httponce.CallFrom(ctx).Scope.Tenant
	if in.ID, err = newID(); err != nil {
		return nil, err
	}
	added, err := s.db.Insert(ctx, tx, "payments", "id, tenant, channel, merchant_id, payment_no, order_id, amount_cents",
		in.ID, tenant, in.Channel, in.MerchantID, in.PaymentNo, in.OrderID, in.AmountCents)
	switch {
	case err != nil:
		return nil, err
	case added:
		err = s.paid(ctx, tx, tenant, in)
	default:
		err = s.firstPayment(ctx, tx, tenant, &in)
	}
	if err != nil {
		return nil, err
	}
	return httponce.Created("/orders/"+in.OrderID, in), nil
}

// paid moves the order on, if it waits for this payment: one that was cancelled or shipped since is not moved back (F38).
func (s *service[Tx]) paid(ctx context.Context, tx Tx, tenant string, in payment) error {
	moved, err := s.db.Exec(ctx, tx, `UPDATE orders SET status = ? WHERE tenant = ? AND id = ? AND status IN (?, ?) AND amount_cents = ?`,
		statusPaid, tenant, in.OrderID, statusAccepted, statusCreated, in.AmountCents)
	if err != nil || moved == 1 {
		return err
	}
	order, err := lockOrder(ctx, s.db, tx, "tenant = ? AND id = ?", tenant, in.OrderID)
	switch {
	case err != nil:
		return err
	case order == nil:
		return errNoOrder
	case order.AmountCents != in.AmountCents:
		return errPaymentMismatch
	case order.Status == statusCancelled:
		return errOrderCancelled
	}
	return errOrderPaidOtherwise
}

// firstPayment is the payment that stands under in's number, if it is the same.
func (s *service[Tx]) firstPayment(ctx context.Context, tx Tx, tenant string, in *payment) error {
	var orderID string
	var amountCents int64
	err := s.db.Row(ctx, tx, `SELECT id, order_id, amount_cents FROM payments
		WHERE tenant = ? AND channel = ? AND merchant_id = ? AND payment_no = ?`, tenant, in.Channel, in.MerchantID, in.PaymentNo).
		Scan(&in.ID, &orderID, &amountCents)
	if err == nil && (orderID != in.OrderID || amountCents != in.AmountCents) {
		err = errPaymentMismatch
	}
	onceward.WroteNothing(ctx)
	return err
}
