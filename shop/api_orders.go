package shop

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// createAPIOrder is POST /api/orders (R1): a duplicate does not wait.
var createAPIOrder = &onceward.Operation{Name: "create-api-order.v1", Retention: 24 * time.Hour}

// apiKeyBytesMax bounds the key, which is stored as the order's request id.
const apiKeyBytesMax = 128

// apiStatuses are this API's words for a key that cannot be served.
var apiStatuses = httponce.Statuses{
	Reused:       http.StatusConflict,
	ReusedCode:   "40902",
	InFlight:     http.StatusConflict,
	InFlightCode: "40901",
}

// purchase is the body of POST /api/orders.
type purchase struct {
	userID, skuID, quantity int64
}

const idRule = "an integer from 1 to 9223372036854775807"

// UnmarshalJSON refuses what is no purchase, and names what is wrong.
func (p *purchase) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	p.userID = body.integer("userId", 1, math.MaxInt64, idRule)
	p.skuID = body.integer("skuId", 1, math.MaxInt64, idRule)
	p.quantity = body.integer("quantity", 1, quantityMax, quantityRule)
	return body.err()
}

// sku is the purchase's SKU as the orders table has it.
func (p purchase) sku() string { return strconv.FormatInt(p.skuID, 10) }

// apiOrderAnswer is the answer of POST /api/orders. Its status is the one that the order began with: an order found
// again is answered as it was the first time.
type apiOrderAnswer struct {
	OrderID string `json:"orderId"`
	OrderNo string `json:"orderNo"`
	Status  string `json:"status"`
}

// purchaseOnce is the work of POST /api/orders. The key is unique in the orders table too, so that a request whose
// record is gone (expired, swept, lost) finds the order that it placed (R1.4).
func (s *service[Tx]) purchaseOnce(ctx context.Context, tx Tx, in purchase) (*httponce.Answer, error) {
	call := httponce.CallFrom(ctx)
	order, err := newOrder(call.Scope, in.sku(), in.quantity, statusCreated)
	if err != nil {
		return nil, err
	}
	order.RequestID, order.UserID = call.Key, in.userID
	added, err := insertOrder(ctx, s.db, tx, order)
	if err == nil && !added {
		order, err = s.firstPurchase(ctx, tx, order)
	}
	if err != nil {
		return nil, err
	}
	return httponce.Created("/orders/"+order.ID.String(), apiOrderAnswer{order.ID.String(), order.Number, statusCreated}), nil
}

// firstPurchase is the order that was placed with again's request id, if it is the same purchase.
func (s *service[Tx]) firstPurchase(ctx context.Context, tx Tx, again *Order) (*Order, error) {
	first, err := lockOrder(ctx, s.db, tx, "tenant = ? AND principal = ? AND request_id = ?",
		again.Owner.Tenant, again.Owner.Principal, again.RequestID)
	switch {
	case err != nil:
		return nil, err
	case first == nil:
		return nil, errNumberTaken
	case first.UserID != again.UserID || first.SKU != again.SKU || first.Quantity != again.Quantity:
		return nil, onceward.ErrKeyReused
	}
	onceward.WroteNothing(ctx)
	return first, nil
}
