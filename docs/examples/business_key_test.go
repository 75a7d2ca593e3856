package examples

import (
	"context"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/sqlstore"
)

// Whoever tells us of a payment, it is the same payment: the key belongs to the tenant.
var notePayment = &onceward.Operation{Name: "note-payment.v1", Retention: 30 * 24 * time.Hour, Per: onceward.Tenant}

type payment struct {
	Channel   string `json:"channel"`
	Merchant  string `json:"merchant"`
	PaymentNo string `json:"paymentNo"`
	Order     string `json:"order"`
	Cents     int    `json:"cents"`
}

func paymentKey(_ *http.Request, in payment) (string, error) {
	return onceward.KeyOf(in.Channel, in.Merchant, in.PaymentNo), nil
}

// notePaymentOnce relies on the record for as long as that is kept, and on the table's own unique key for ever: where the row is
// there already, it decides whether this is the same payment.
func notePaymentOnce(ctx context.Context, tx sqlstore.Tx, in payment) (*httponce.Answer, error) {
	_, err := tx.ExecContext(ctx, `INSERT INTO payments (channel, merchant, payment_no, order_id, cents) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, in.Channel, in.Merchant, in.PaymentNo, in.Order, in.Cents)
	if err != nil {
		return nil, err
	}
	var stands payment
	err = tx.QueryRowContext(ctx, `SELECT order_id, cents FROM payments WHERE channel = ? AND merchant = ? AND payment_no = ?`,
		in.Channel, in.Merchant, in.PaymentNo).Scan(&stands.Order, &stands.Cents)
	switch {
	case err != nil:
		return nil, err
	case stands.Order != in.Order || stands.Cents != in.Cents:
		return httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "payment_mismatch"}), nil
	}
	_, err = tx.ExecContext(ctx, `UPDATE orders SET state = 'paid' WHERE id = ? AND state = 'pending'`, in.Order)
	return &httponce.Answer{Status: http.StatusCreated, Body: map[string]string{"order": in.Order}}, err
}

func Example_businessKey() {
	s := start(`CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT); INSERT INTO orders VALUES ('911001', 'pending');
		CREATE TABLE payments (channel TEXT, merchant TEXT, payment_no TEXT, order_id TEXT, cents INTEGER, UNIQUE (channel, merchant, payment_no))`)
	defer s.stop()
	s.mux.Handle("POST /payments", httponce.JSONBy(s.door, notePayment, paymentKey, notePaymentOnce))

	s.send("POST /payments", `{"channel":"A","merchant":"M1","paymentNo":"P1001","order":"911001","cents":3980}`)
	s.send("POST /payments", `{"channel":"A","merchant":"M1","paymentNo":"P1001","order":"911001","cents":3980}`)
	s.send("POST /payments", `{"channel":"A","merchant":"M1","paymentNo":"P1001","order":"911001","cents":1}`)
	must(s.db.Exec(`DELETE FROM onceward_record`)) // long after: the record is gone
	s.send("POST /payments", `{"channel":"A","merchant":"M1","paymentNo":"P1001","order":"911001","cents":3980}`)
	s.rows("payments")
	// Output:
	// 201 {"order":"911001"}
	// 201 {"order":"911001"} (replayed)
	// 422 key_reused
	// 201 {"order":"911001"}
	// payments: 1
}
