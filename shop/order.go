package shop

import (
	"context"
	"database/sql"
	"encoding/base32"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/onceward/onceward"
)

// priceCents is what one piece costs, whatever it is.
const priceCents = 9900

// quantityMax bounds the pieces of one order.
const quantityMax = 100

// The states of an order. It starts in one of the first two, which mean the same: it waits for its payment.
const (
	statusAccepted  = "accepted" // POST /orders
	statusCreated   = "CREATED"  // POST /api/orders
	statusPaid      = "paid"
	statusShipped   = "shipped"
	statusCancelled = "cancelled"
)

// Order is a row of the orders table.
type Order struct {
	ID          uuid.UUID // version 7: in the order of time
	Owner       onceward.Scope
	RequestID   string // the key of an order of /api/orders, else empty
	CheckoutRef string // empty where the order has none
	Number      string // for people; unique
	UserID      int64  // of /api/orders, else 0
	SKU         string
	Quantity    int64
	AmountCents int64
	Status      string
	Round       int64  // how often it was opened: 1 at first
	Reserved    bool   // its pieces were taken from the stock
	QuoteID     string // of the quote that it confirms, else empty
}

// newOrder prices an order and gives it its id and number.
func newOrder(owner onceward.Scope, sku string, quantity int64, status string) (*Order, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	return &Order{
		ID: id, Owner: owner, Number: numberOf(id),
		SKU: sku, Quantity: quantity, AmountCents: priceCents * quantity, Status: status, Round: 1,
	}, nil
}

// Crockford's alphabet has no I, L, O and U, which are misread.
var readable = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// numberOf is an order's number, which a person can read out: the day, and 60 random bits of the id's 62. Numbers of
// two ids do not meet in practice, and the table's unique constraint decides if they do.
func numberOf(id uuid.UUID) string {
	seconds, nanoseconds := id.Time().UnixTime()
	day := time.Unix(seconds, nanoseconds).UTC().Format("20060102")
	text := readable.EncodeToString(id[8:])[1:] // 13 characters; the first holds the variant's fixed bits
	return "ORD-" + day + "-" + text[:4] + "-" + text[4:8] + "-" + text[8:]
}

// orderColumns of the orders table, in the order of insertOrder and scanOrder.
const orderColumns = "id, tenant, principal, request_id, checkout_ref, order_no, user_id, sku, quantity, amount_cents, status, round, reserved, quote_id"

// insertOrder adds o. It reports false, and adds nothing, where a unique value of o (its number, its owner's request id,
// its tenant's checkout reference, its quote) is taken by an order
// that is committed. What an order does not have is NULL, so that
// it is not unique.
func insertOrder[Tx any](ctx context.Context, db Database[Tx], tx Tx, o *Order) (bool, error) {
	return db.Insert(ctx, tx, "orders", orderColumns, o.ID.String(), o.Owner.Tenant, o.Owner.Principal, orNull(o.RequestID),
		orNull(o.CheckoutRef), o.Number, orNull(o.UserID), o.SKU, o.Quantity, o.AmountCents, o.Status, o.Round, o.Reserved, orNull(o.QuoteID))
}

// readOrder reads the tenant's order of that id outside of a transaction, nil if there is none.
func (s *service[Tx]) readOrder(ctx context.Context, tenant string, id uuid.UUID) (*Order, error) {
	found, err := s.readOrders(ctx, "tenant = ? AND id = ?", tenant, id.String())
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// readOrders reads the orders that where chooses, outside of a transaction.
func (s *service[Tx]) readOrders(ctx context.Context, where string, args ...any) (orders []*Order, _ error) {
	err := s.db.Read(ctx, func(row Scanner) error {
		order, err := scanOrder(row)
		orders = append(orders, order)
		return err
	}, `SELECT `+orderColumns+` FROM orders WHERE `+where, args...)
	return orders, err
}

// lockOrder reads the order that where chooses and keeps it as it is until tx has ended; nil if there is none.
func lockOrder[Tx any](ctx context.Context, db Database[Tx], tx Tx, where string, args ...any) (*Order, error) {
	order, err := scanOrder(db.Row(ctx, tx, `SELECT `+orderColumns+` FROM orders WHERE `+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return order, err
}

func scanOrder(row Scanner) (*Order, error) {
	var (
		o                      Order
		requestID, checkoutRef *string
		quoteID                *string
		userID                 *int64
	)
	err := row.Scan(&o.ID, &o.Owner.Tenant, &o.Owner.Principal, &requestID, &checkoutRef, &o.Number, &userID,
		&o.SKU, &o.Quantity, &o.AmountCents, &o.Status, &o.Round, &o.Reserved, &quoteID)
	if err != nil {
		return nil, err
	}
	o.RequestID, o.CheckoutRef, o.UserID, o.QuoteID = orZero(requestID), orZero(checkoutRef), orZero(userID), orZero(quoteID)
	return &o, nil
}

func orNull[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

func orZero[T any](value *T) (zero T) {
	if value == nil {
		return zero
	}
	return *value
}
