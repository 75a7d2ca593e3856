package shop

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"

	"github.com/onceward/onceward"
)

// Bounds of a page, in orders.
const (
	pageDefault = 50
	pageMax     = 1000
)

// page is the answer of GET /orders.
type page struct {
	Orders []orderAnswer `json:"orders"`
	Next   *string       `json:"next"` // null on the last page
}

// list answers GET /orders: the tenant's orders, whoever of the tenant placed them, the newest first.
func (s *service[Tx]) list(w http.ResponseWriter, r *http.Request, caller onceward.Scope) error {
	limit, before, err := pageOf(r.URL.RawQuery)
	if err != nil {
		return err
	}
	// One more than asked for tells whether there is a next page.
	orders, err := s.readOrders(r.Context(), "tenant = ? AND id < ? ORDER BY id DESC LIMIT ?", caller.Tenant, before.String(), limit+1)
	if err != nil {
		return err
	}
	answer := page{Orders: make([]orderAnswer, 0, limit)}
	if len(orders) > limit {
		orders = orders[:limit]
		next := cursorOf(orders[limit-1].ID)
		answer.Next = &next
	}
	for _, order := range orders {
		answer.Orders = append(answer.Orders, answerOf(order))
	}
	writeJSON(w, http.StatusOK, "application/json", answer)
	return nil
}

func noPage(detail string) error {
	return refuse(http.StatusBadRequest, "page_malformed", "The page cannot be read", detail)
}

// pageOf reads limit and cursor. The first page starts before the greatest id there is.
func pageOf(rawQuery string) (limit int, before uuid.UUID, _ error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return 0, before, noPage("The query string is malformed.")
	}
	limit, before = pageDefault, uuid.Max
	if given := query["limit"]; given != nil {
		limit, err = strconv.Atoi(given[0])
		if err != nil || len(given) > 1 || limit < 1 || limit > pageMax {
			return 0, before, noPage(fmt.Sprintf("The parameter limit must be an integer from 1 to %d.", pageMax))
		}
	}
	if given := query["cursor"]; given != nil {
		before, err = cursorID(given[0])
		if err != nil || len(given) > 1 {
			return 0, before, noPage("The parameter cursor must be the next of an earlier page.")
		}
	}
	return limit, before, nil
}

// cursorForm is the first byte of a cursor, so that another form can be told from this one.
const cursorForm = 1

// cursorOf is the cursor of the page after the order of that id: opaque, so that the order of the list can change.
func cursorOf(id uuid.UUID) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{cursorForm}, id[:]...))
}

func cursorID(cursor string) (id uuid.UUID, _ error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) != 1+len(id) || raw[0] != cursorForm {
		return id, errors.New("shop: not a cursor")
	}
	return uuid.UUID(raw[1:]), nil
}
