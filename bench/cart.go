package bench

import (
	"encoding/json"
	"strings"
)

// cartBytes is the size of the JSON of a cart: an order as a browser sends it.
const cartBytes = 1 << 10

// Cart is what a request through the HTTP door asks for.
type Cart struct {
	Customer string `json:"customer"`
	Lines    []Line `json:"lines"`
	Note     string `json:"note"`
}

// Line is a line of a Cart.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"`
}

// CartJSON is a cart of 16 lines as 1 KiB of JSON.
func CartJSON() []byte {
	cart := Cart{Customer: "acme"}
	for i := range 16 {
		cart.Lines = append(cart.Lines, Line{SKU: "BOOK-00" + string(rune('A'+i)), Quantity: i + 1, Cents: 9900})
	}
	text, _ := json.Marshal(cart) // it is a plain value
	cart.Note = strings.Repeat("n", cartBytes-len(text))
	text, _ = json.Marshal(cart)
	return text
}
