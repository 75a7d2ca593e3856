package examples

import (
	"context"
	"encoding/json"
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
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		token, err := storeQuote(r.Context(), s, who, "Q1")
		if err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"quote": "Q1", "token": token})
	}
}

func storeQuote(ctx context.Context, s *service, who onceward.Scope, id string) (token string, _ error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `INSERT INTO quotes (id, cents) VALUES (?, 3980)`, id); err != nil {
		return "", err
	}
	if token, err = s.engine.Issue(ctx, tx, confirmQuote, who, id); err != nil {
		return "", err
	}
	return token, tx.Commit()
}

type confirmation struct {
	Token string `json:"token"`
	Gift  bool   `json:"gift"`
}

func tokenOf(_ *http.Request, in confirmation) (string, error) { return in.Token, nil }

// confirmOnce orders what the token was issued for: not what the request says. The price is looked at again, and orders.quote
// is unique, so that a second token of the quote orders nothing.
func confirmOnce(ctx context.Context, tx sqlstore.Tx, in confirmation) (*httponce.Answer, error) {
	var cents int
	err := tx.QueryRowContext(ctx, `SELECT cents FROM quotes WHERE id = ?`, onceward.Subject(ctx)).Scan(&cents)
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

func Example_token() {
	s := start(`CREATE TABLE quotes (id TEXT PRIMARY KEY, cents INTEGER); CREATE TABLE orders (quote TEXT UNIQUE, cents INTEGER, gift INTEGER)`)
	defer s.stop()
	s.mux.Handle("POST /quotes", quote(s))
	s.mux.Handle("POST /orders", httponce.JSONBy(s.door, confirmQuote, tokenOf, confirmOnce))

	var quoted struct{ Token string }
	must(0, json.Unmarshal([]byte(s.send("POST /quotes", "")), &quoted))
	s.send("POST /orders", `{"token":"`+quoted.Token+`"}`)
	s.send("POST /orders", `{"token":"`+quoted.Token+`"}`)
	s.send("POST /orders", `{"token":"`+quoted.Token+`","gift":true}`)
	s.send("POST /orders", `{"token":"a guess, or another user's"}`)
	s.rows("orders")
	// Output:
	// 200 {"quote":"Q1","token":"…"}
	// 201 {"cents":3980,"quote":"Q1"}
	// 201 {"cents":3980,"quote":"Q1"} (replayed)
	// 422 key_reused
	// 404 token_unknown
	// orders: 1
}
