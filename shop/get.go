package shop

import (
	"net/http"

	"github.com/onceward/onceward"
)

// errNoOrder is one answer for an order that is not there and for one that is another tenant's.
var errNoOrder = refuse(http.StatusNotFound, "order_unknown", "There is no such order", "The tenant has no order of this id.")

// get answers GET /orders/{id}: an order as it is now.
func (s *service[Tx]) get(w http.ResponseWriter, r *http.Request, caller onceward.Scope) error {
	id, err := orderID(r)
	if err != nil {
		return err
	}
	order, err := s.readOrder(r.Context(), caller.Tenant, id)
	switch {
	case err != nil:
		return err
	case order == nil:
		return errNoOrder
	}
	writeJSON(w, http.StatusOK, "application/json", orderNow(order))
	return nil
}
