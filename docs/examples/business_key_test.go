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

// Whoever tells us of a payment, it is the same payment: the key belongs to the tenant.
var notePayment = &onceward.Operation{Name: "note-payment.v1", Retention: 30 * 24 * time.Hour, Per: onceward.Tenant, Wait: time.Second}

type payment struct {
	Channel   string `json:"channel"`
	Merchant  string `json:"merchant"`
	PaymentNo string `json:"paymentNo"`
	Order     string `json:"order"`
	Cents     int    `json:"cents"`
}

// Validate refuses what names no payment.
func (p payment) Validate() error {
	if p.Channel == "" || p.Merchant == "" || p.PaymentNo == "" || p.Order == "" {
		return errors.New("channel, merchant, paymentNo and order are needed")
	}
	return nil
}

func paymentKey(_ *http.Request, in payment) (string, error) {
	return onceward.KeyOf(in.Channel, in.Merchant, in.PaymentNo), nil
}

// notePaymentOnce relies on the record for as long as that is kept, and on the table's own unique key for ever: where the row is
// there already, it decides whether this is the same payment. onceward keeps the tenants' keys apart; the rows are yours to keep apart.
func notePaymentOnce(ctx context.Context, tx sqlstore.Tx, in payment) (*httponce.Answer, error) {
	tenant := httponce.CallFrom(ctx).Scope.Tenant
	noted := &httponce.Answer{Status: http.StatusCreated, Body: map[string]string{"order": in.Order}}
	result, err := tx.ExecContext(ctx, `INSERT INTO payments (tenant, channel, merchant, payment_no, order_id, cents) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, tenant, in.Channel, in.Merchant, in.PaymentNo, in.Order, in.Cents)
	if err != nil {
		return nil, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return noted, errors.Join(err, samePayment(ctx, tx, tenant, in))
	}
	result, err = tx.ExecContext(ctx, `UPDATE orders SET state = 'paid' WHERE tenant = ? AND id = ? AND state = 'pending'`, tenant, in.Order)
	if err != nil {
		return nil, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 { // unknown, another tenant's, or not to be paid: nothing of this stays
		return httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "order_not_payable"}), err
	}
	return noted, nil
}

// samePayment compares with the row that stands. Then the work has nothing to write, and says that it means that.
func samePayment(ctx context.Context, tx sqlstore.Tx, tenant string, in payment) error {
	var order string
	var cents int
	err := tx.QueryRowContext(ctx, `SELECT order_id, cents FROM payments WHERE tenant = ? AND channel = ? AND merchant = ? AND payment_no = ?`,
		tenant, in.Channel, in.Merchant, in.PaymentNo).Scan(&order, &cents)
	if err == nil && (order != in.Order || cents != in.Cents) {
		return httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "payment_mismatch"})
	}
	onceward.WroteNothing(ctx)
	return err
}

func Example_businessKey() {
	s := start(`CREATE TABLE orders (tenant TEXT, id TEXT, state TEXT, PRIMARY KEY (tenant, id)); INSERT INTO orders VALUES ('acme', '911001', 'pending');
		CREATE TABLE payments (tenant TEXT, channel TEXT, merchant TEXT, payment_no TEXT, order_id TEXT, cents INTEGER,
			UNIQUE (tenant, channel, merchant, payment_no))`)
	defer s.stop()
	s.mux.Handle("POST /payments", httponce.JSONBy(s.door, notePayment, paymentKey, notePaymentOnce))

	s.send("POST /payments", `{"channel":"A","merchant":"M1","paymentNo":"P1001","order":"911001","cents":3980}`)
	s.send("POST /payments", `{"channel":"A","merchant":"M1","paymentNo":"P1001","order":"911001","cents":3980}`)
	s.send("POST /payments", `{"channel":"A","merchant":"M1","paymentNo":"P1001","order":"911001","cents":1}`)
	must(s.db.Exec(`DELETE FROM onceward_record`)) // long after: the record is gone
	s.send("POST /payments", `{"channel":"A","merchant":"M1","paymentNo":"P1001","order":"911001","cents":3980}`)
	s.send("POST /payments", `{"channel":"A","merchant":"M1","paymentNo":"P1002","order":"911002","cents":3980}`)
	s.rows("payments")
	// Output:
	// 201 {"order":"911001"}
	// 201 {"order":"911001"} (replayed)
	// 422 key_reused
	// 201 {"order":"911001"}
	// 409 order_not_payable
	// payments: 1
}
