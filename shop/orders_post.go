package shop

import (
	"context"
	"regexp"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// createOrder is POST /orders (R2): a duplicate waits a second for the first attempt, then is told to come again.
var createOrder = &onceward.Operation{Name: "create-order.v1", Retention: 24 * time.Hour, Wait: time.Second}

var (
	skuForm      = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	checkoutForm = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`)
)

const (
	skuRule      = "a string of 1 to 40 letters, digits, '_' or '-'"
	checkoutRule = "a string of 1 to 100 letters, digits, '.', '_', ':' or '-', or be left out"
	quantityRule = "an integer from 1 to 100"
)

// checkout is the body of POST /orders.
type checkout struct {
	sku      string
	quantity int64
	ref      string // one order per checkout (R2.12); empty where the caller has no such identity
}

// UnmarshalJSON refuses what is no checkout, and names what is wrong.
func (c *checkout) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	c.sku = body.text("sku", skuForm, skuRule)
	c.quantity = body.integer("quantity", 1, quantityMax, quantityRule)
	c.ref = body.optional("checkoutRef", checkoutForm, checkoutRule)
	return body.err()
}

// orderAnswer is how an order is shown.
type orderAnswer struct {
	ID          string `json:"id"`
	SKU         string `json:"sku"`
	Quantity    int64  `json:"quantity"`
	AmountCents int64  `json:"amountCents"`
	Status      string `json:"status"`
}

// orderNow is an order as it is at present: with its round, where it was opened again.
func orderNow(o *Order) any {
	now := struct {
		orderAnswer
		Round int64 `json:"round,omitempty"`
	}{orderAnswer: answerOf(o)}
	if o.Round > 1 {
		now.Round = o.Round
	}
	return now
}

func answerOf(o *Order) orderAnswer {
	return orderAnswer{ID: o.ID.String(), SKU: o.SKU, Quantity: o.Quantity, AmountCents: o.AmountCents, Status: o.Status}
}

// checkoutOnce is the work of POST /orders. A checkout that is ordered already is refused: the refusal is not recorded,
// so that the key stays free for the caller's next intent.
func (s *service[Tx]) checkoutOnce(ctx context.Context, tx Tx, in checkout) (*httponce.Answer, error) {
	order, err := newOrder(httponce.CallFrom(ctx).Scope, in.sku, in.quantity, statusAccepted)
	if err != nil {
		return nil, err
	}
	order.CheckoutRef = in.ref
	if order.Reserved, err = reserve(ctx, s.db, tx, order.Owner.Tenant, order.SKU, order.Quantity); err != nil {
		return nil, err
	}
	added, err := insertOrder(ctx, s.db, tx, order)
	switch {
	case err != nil:
		return nil, err
	case !added && in.ref != "":
		return nil, errCheckoutOrdered
	case !added:
		return nil, errNumberTaken
	}
	return httponce.Created("/orders/"+order.ID.String(), answerOf(order)), nil
}
