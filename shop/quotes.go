package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/google/uuid"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// createQuote and createQuoteToken are for Options.Authorize: a quote that was asked for twice is two quotes, and no harm.
var (
	createQuote      = &onceward.Operation{Name: "create-quote.v1"}
	createQuoteToken = &onceward.Operation{Name: "create-quote-token.v1"}
)

// confirmQuote is POST /quotes/{id}/confirm (R3.7). Its tokens can be submitted for as long as a quote stands, and their
// orders are confirmed for a day.
func confirmQuote(life time.Duration) *onceward.Operation {
	return &onceward.Operation{Name: "confirm-quote.v1", Submit: life, Retention: 24 * time.Hour, Wait: time.Second}
}

var (
	errNoQuote = refuse(http.StatusNotFound, "quote_unknown", "There is no such quote",
		"The caller has no quote of this id, or this is not a token of it.")
	errQuoteExpired = refuse(http.StatusGone, "quote_expired", "The quote has expired",
		"Nothing was ordered with it and nothing will be. Ask for a new one: POST /quotes.")
	errQuoteOrdered = refuse(http.StatusConflict, "quote_already_ordered", "The quote is ordered already",
		"Another token of this quote has placed its order; nothing was ordered now. Send that token to see the order.")
	errPriceChanged = refuse(http.StatusConflict, "price_changed", "The price has changed",
		"Nothing was ordered. Ask for a new quote: POST /quotes.")
	errQuoteMismatch = refuse(http.StatusUnprocessableEntity, "quote_mismatch", "The quote says something else",
		"Nothing was ordered. The members sku, quantity and priceCents may be left out; where they are sent they must be the quote's.")
)

// quoteStatuses are this API's words for a token.
var quoteStatuses = httponce.Statuses{NotIssuedCode: "quote_unknown", TokenExpiredCode: "quote_expired"}

// quoteRequest is the body of POST /quotes.
type quoteRequest struct {
	sku      string
	quantity int64
}

// UnmarshalJSON refuses what asks for no quote, and names what is wrong.
func (q *quoteRequest) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	q.sku = body.text("sku", skuForm, skuRule)
	q.quantity = body.integer("quantity", 1, quantityMax, quantityRule)
	return body.err()
}

// quote is a row of the quotes table.
type quote struct {
	id         uuid.UUID
	sku        string
	quantity   int64
	priceCents int64
	expires    time.Time
}

// quoteAnswer is a quote with a token to order it by.
type quoteAnswer struct {
	QuoteID    string    `json:"quoteId"`
	Token      string    `json:"token"`
	PriceCents int64     `json:"priceCents"`
	ExpiresAt  time.Time `json:"expiresAt"`
}

// quote is POST /quotes: the quote and its first token stand together.
func (s *service[Tx]) quote(ctx context.Context, tx Tx, _ *http.Request, caller onceward.Scope, in quoteRequest) (*httponce.Answer, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	q := &quote{
		id: id, sku: in.sku, quantity: in.quantity, priceCents: priceCents * in.quantity,
		expires: time.Now().Add(s.options.QuoteLife).UTC().Truncate(time.Millisecond),
	}
	_, err = s.db.Insert(ctx, tx, "quotes", "id, tenant, principal, sku, quantity, price_cents, expires_ms",
		q.id.String(), caller.Tenant, caller.Principal, q.sku, q.quantity, q.priceCents, q.expires.UnixMilli())
	if err != nil {
		return nil, err
	}
	return s.issue(ctx, tx, caller, q)
}

// quoteToken is POST /quotes/{id}/tokens: one more token of a quote that stands, for a caller who has lost the first.
func (s *service[Tx]) quoteToken(ctx context.Context, tx Tx, r *http.Request, caller onceward.Scope, _ empty) (*httponce.Answer, error) {
	q, err := lockQuote(ctx, s.db, tx, caller, r.PathValue("id"))
	switch {
	case err != nil:
		return nil, err
	case !time.Now().Before(q.expires):
		return nil, errQuoteExpired
	}
	return s.issue(ctx, tx, caller, q)
}

// issue answers with a new token of q, which nobody on the way is to keep.
func (s *service[Tx]) issue(ctx context.Context, tx Tx, caller onceward.Scope, q *quote) (*httponce.Answer, error) {
	token, err := s.engine.Issue(ctx, tx, s.confirm, caller, q.id.String())
	if err != nil {
		return nil, err
	}
	return &httponce.Answer{
		Status: http.StatusCreated,
		Header: http.Header{"Cache-Control": {"no-store"}},
		Body:   quoteAnswer{QuoteID: q.id.String(), Token: token, PriceCents: q.priceCents, ExpiresAt: q.expires},
	}, nil
}

// lockQuote reads the caller's quote of that id and keeps it until tx has ended.
func lockQuote[Tx any](ctx context.Context, db Database[Tx], tx Tx, caller onceward.Scope, text string) (*quote, error) {
	id, err := uuid.Parse(text)
	if err != nil || id.String() != text { // Parse takes other forms too
		return nil, errNoQuote
	}
	q, expires := &quote{id: id}, int64(0)
	err = db.Row(ctx, tx, `SELECT sku, quantity, price_cents, expires_ms FROM quotes WHERE id = ? AND tenant = ? AND principal = ?`,
		text, caller.Tenant, caller.Principal).Scan(&q.sku, &q.quantity, &q.priceCents, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, errNoQuote
	}
	q.expires = time.UnixMilli(expires).UTC()
	return q, err
}

var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// confirmation is the body of POST /quotes/{id}/confirm. What it repeats of the quote has to be the quote's.
type confirmation struct {
	token                string
	sku                  string
	quantity, priceCents int64
}

// UnmarshalJSON refuses what is no confirmation, and names what is wrong.
func (c *confirmation) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	c.token = body.text("token", tokenForm, "the string that the quote was answered with")
	c.sku = body.optional("sku", skuForm, skuRule)
	if _, there := body.left["quantity"]; there {
		c.quantity = body.integer("quantity", 1, quantityMax, quantityRule+", or be left out")
	}
	if _, there := body.left["priceCents"]; there {
		c.priceCents = body.integer("priceCents", 1, centsMax, centsRule+", or be left out")
	}
	return body.err()
}

// repeats reports whether what c says of the quote is true.
func (c *confirmation) repeats(q *quote) bool {
	return (c.sku == "" || c.sku == q.sku) && (c.quantity == 0 || c.quantity == q.quantity) && (c.priceCents == 0 || c.priceCents == q.priceCents)
}

func tokenOf(_ *http.Request, in confirmation) (string, error) { return in.token, nil }

// confirmOnce is the work of POST /quotes/{id}/confirm. A token says that its holder may order, not that there is something
// to be had: the price, the stock and the time are looked at again.
func (s *service[Tx]) confirmOnce(ctx context.Context, tx Tx, in confirmation) (*httponce.Answer, error) {
	call := httponce.CallFrom(ctx)
	id := call.Request.PathValue("id")
	if onceward.Subject(ctx) != id {
		return nil, errNoQuote
	}
	q, err := lockQuote(ctx, s.db, tx, call.Scope, id)
	if err != nil {
		return nil, err
	}
	earlier, err := lockOrder(ctx, s.db, tx, "quote_id = ?", id)
	switch {
	case err != nil:
		return nil, err
	case earlier != nil:
		return nil, errQuoteOrdered
	case !time.Now().Before(q.expires):
		return nil, errQuoteExpired
	case !in.repeats(q):
		return nil, errQuoteMismatch
	}
	order, err := newOrder(call.Scope, q.sku, q.quantity, statusAccepted)
	switch {
	case err != nil:
		return nil, err
	case order.AmountCents != q.priceCents:
		return nil, errPriceChanged
	}
	order.QuoteID = id
	if order.Reserved, err = reserve(ctx, s.db, tx, order.Owner.Tenant, order.SKU, order.Quantity); err != nil {
		return nil, err
	}
	added, err := insertOrder(ctx, s.db, tx, order)
	switch {
	case err != nil:
		return nil, err
	case !added: // the table's own guard: not while the quote is locked
		return nil, errQuoteOrdered
	}
	return httponce.Created("/orders/"+order.ID.String(), answerOf(order)), nil
}

// QuoteLifeDefault is how long a quote stands.
const QuoteLifeDefault = 5 * time.Minute

func (o Options) validate() error {
	if o.QuoteLife < time.Second || o.QuoteLife > 24*time.Hour {
		return fmt.Errorf("shop: Options.QuoteLife is %v, and must be between 1s and 24h", o.QuoteLife)
	}
	return nil
}
