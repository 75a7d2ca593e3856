package examples

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/sqlstore"
)

// A token can be submitted for five minutes; what came of it is confirmed for a day.
var confirmQuote = &onceward.Operation{Name: "confirm-quote.v1", Submit: 5 * time.Minute, Retention: 24 * time.Hour, Wait: time.Second}

// quote stores a quote and issues its token, in one transaction.
func quote(s *service) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := caller(r)
		if err != nil {
			reply(w, r, errWho, nil)
			return
		}
		answer, err := storeQuote(r.Context(), s, who)
		reply(w, r, answer, err)
	}
}

func storeQuote(ctx context.Context, s *service, who onceward.Scope) (*httponce.Answer, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	var id string
	if err := tx.QueryRowContext(ctx, `INSERT INTO quotes (tenant, cents) VALUES (?, 3980) RETURNING id`, who.Tenant).Scan(&id); err != nil {
		return nil, err
	}
	token, err := s.engine.Issue(ctx, tx, confirmQuote, who, id)
	if err != nil {
		return nil, err
	}
	return httponce.OK(map[string]string{"quote": id, "token": token}), tx.Commit()
}

type confirmation struct {
	Token string `json:"token"`
	Gift  bool   `json:"gift"`
}

// Validate refuses what names no action.
func (c confirmation) Validate() error {
	if c.Token == "" {
		return errors.New("token is needed")
	}
	return nil
}

func tokenOf(_ *http.Request, in confirmation) (string, error) { return in.Token, nil }

// confirmOnce orders what the token was issued for: not what the request says. The price is looked at again, and orders.quote
// is unique, so that a second token of the quote orders nothing.
func confirmOnce(ctx context.Context, tx sqlstore.Tx, in confirmation) (*httponce.Answer, error) {
	var cents int
	err := tx.QueryRowContext(ctx, `SELECT cents FROM quotes WHERE id = ? AND tenant = ?`,
		onceward.Subject(ctx), httponce.CallFrom(ctx).Scope.Tenant).Scan(&cents)
	if err != nil {
		return nil, err
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO orders (quote, cents, gift) VALUES (?, ?, ?) ON CONFLICT (quote) DO NOTHING`,
		onceward.Subject(ctx), cents, in.Gift)
	if err != nil {
		return nil, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "quote_already_ordered"}), err
	}
	return &httponce.Answer{Status: http.StatusCreated, Body: map[string]any{"quote": onceward.Subject(ctx), "cents": cents}}, nil
}

// issueAgain is what a page does that was opened twice: a second token of one quote.
func issueAgain(s *service, id string) string {
	tx := must(s.db.Begin())
	defer tx.Commit()
	return must(s.engine.Issue(context.Background(), tx, confirmQuote, onceward.Scope{Tenant: "acme", Principal: "alice"}, id))
}

func Example_token() {
	s := start(`CREATE TABLE quotes (id INTEGER PRIMARY KEY, tenant TEXT, cents INTEGER); CREATE TABLE orders (quote INTEGER UNIQUE, cents INTEGER, gift INTEGER)`)
	defer s.stop()
	s.mux.Handle("POST /quotes", quote(s))
	s.mux.Handle("POST /orders", httponce.JSONBy(s.door, confirmQuote, tokenOf, confirmOnce))

	var quoted struct{ Token string }
	must(0, json.Unmarshal([]byte(s.send("POST /quotes", "")), &quoted))
	s.send("POST /orders", `{"token":"`+quoted.Token+`"}`)
	s.send("POST /orders", `{"token":"`+quoted.Token+`"}`)
	s.send("POST /orders", `{"token":"`+quoted.Token+`","gift":true}`)
	s.send("POST /orders", `{"token":"a guess, or another user's"}`)
	s.send("POST /orders", `{"token":"`+issueAgain(s, "1")+`"}`)
	s.rows("orders")
	// Output:
	// 200 {"quote":"1","token":"…"}
	// 201 {"cents":3980,"quote":"1"}
	// 201 {"cents":3980,"quote":"1"} (replayed)
	// 422 key_reused
	// 404 token_unknown
	// 409 quote_already_ordered
	// orders: 1
}
