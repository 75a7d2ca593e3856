package shop

import (
	"context"
	"encoding/base32"
	"time"

	"github.com/google/uuid"

	"github.com/onceward/onceward"
)

// priceCents is what one piece costs, whatever it is.
const priceCents = 9900

// quantityMax bounds the pieces of one order.
const quantityMax = 100

// The states that an order starts in: each endpoint's answer has its own word.
const (
	statusAccepted = "accepted" // POST /orders
	statusCreated  = "CREATED"  // POST /api/orders
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
}

// Orders is what a database does for the shop: the one seam between the service and SQL. Insert and ByRequest work in
// the attempt's transaction, Get and List read outside of one.
type Orders[Tx any] interface {
	// Insert adds o. It reports false, and adds nothing, where a unique value of o (its number, its owner's request id,
	// its tenant's checkout reference) is taken by an order that is committed.
	Insert(ctx context.Context, tx Tx, o *Order) (bool, error)
	// ByRequest returns the owner's order of that request id, nil if there is none. The order stays until tx has ended.
	ByRequest(ctx context.Context, tx Tx, owner onceward.Scope, requestID string) (*Order, error)
	// Get returns the tenant's order of that id, nil if there is none.
	Get(ctx context.Context, tenant string, id uuid.UUID) (*Order, error)
	// List returns up to limit of the tenant's orders whose id is less than before, the newest first.
	List(ctx context.Context, tenant string, before uuid.UUID, limit int) ([]*Order, error)
}

// newOrder prices an order and gives it its id and number.
func newOrder(owner onceward.Scope, sku string, quantity int64, status string) (*Order, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	return &Order{
		ID: id, Owner: owner, Number: numberOf(id),
		SKU: sku, Quantity: quantity, AmountCents: priceCents * quantity, Status: status,
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

// columns of the orders table, in the order of values and fields.
const columns = "id, tenant, principal, request_id, checkout_ref, order_no, user_id, sku, quantity, amount_cents, status"

// values are o's as a driver takes them: what an order does not have is NULL, so that it is not unique.
func (o *Order) values() []any {
	return []any{
		o.ID.String(), o.Owner.Tenant, o.Owner.Principal, orNull(o.RequestID), orNull(o.CheckoutRef), o.Number, orNull(o.UserID),
		o.SKU, o.Quantity, o.AmountCents, o.Status,
	}
}

// scanOrder reads a row of columns: both pgx and database/sql have this Scan.
func scanOrder(row interface{ Scan(to ...any) error }) (*Order, error) {
	var (
		o                      Order
		requestID, checkoutRef *string
		userID                 *int64
	)
	err := row.Scan(&o.ID, &o.Owner.Tenant, &o.Owner.Principal, &requestID, &checkoutRef, &o.Number, &userID,
		&o.SKU, &o.Quantity, &o.AmountCents, &o.Status)
	if err != nil {
		return nil, err
	}
	o.RequestID, o.CheckoutRef, o.UserID = orZero(requestID), orZero(checkoutRef), orZero(userID)
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
