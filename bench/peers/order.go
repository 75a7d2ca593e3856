package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	createOrders = `CREATE TABLE orders (id uuid PRIMARY KEY, sku text NOT NULL, quantity integer NOT NULL, cents bigint NOT NULL)`
	insertOrder  = `INSERT INTO orders (id, sku, quantity, cents) VALUES ($1::uuid, $2, $3, $4)`
	countOrders  = `SELECT count(*) FROM orders`
)

// answerBytes is what an answer weighs; who keeps answers keeps as much.
const answerBytes = 400

// answer is what a caller is told of his order.
type answer struct {
	ID       string `json:"id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Note     string `json:"note"`
}

// answerOf is the JSON of an answer.
func answerOf(id string, quantity int) []byte {
	a := answer{ID: id, SKU: "BOOK", Quantity: quantity}
	bare, _ := json.Marshal(a) // a plain value
	a.Note = note[:answerBytes-len(bare)]
	whole, _ := json.Marshal(a)
	return whole
}

// note is no run of one byte, which a compressed column could make short.
var note = func() string {
	var text strings.Builder
	for i := range answerBytes {
		text.WriteByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[i*i*7%62])
	}
	return text.String()
}()

// idOf reads the order's id from an answer.
func idOf(body []byte) (string, error) {
	var a answer
	err := json.NewDecoder(bytes.NewReader(body)).Decode(&a)
	if err == nil && a.ID == "" {
		err = fmt.Errorf("no id in the answer %q", body)
	}
	return a.ID, err
}

func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// orders counts what was placed.
func orders(ctx context.Context, pool *pgxpool.Pool) (n int, err error) {
	err = pool.QueryRow(ctx, countOrders).Scan(&n)
	return n, err
}
