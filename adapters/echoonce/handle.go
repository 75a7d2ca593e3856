package echoonce

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// Handle serves an operation by an Echo handler that gets its transaction as an argument. What it writes is held until
// the commit, and what becomes of it is decided as in httponce.Door.Handle: below 400 it is committed and recorded, a
// written 4xx or 5xx is answered and rolled back, and so is a returned error. c.Request() carries the work's context;
// httponce.CallFrom(c.Request().Context()) is its call. c.Response().Flush panics, as it does in Echo wherever the answer
// cannot be sent in parts. Handle panics if the operation is not valid.
//
// An error that the door has no answer for (see httponce.Door.Adapt), such as an *echo.HTTPError, is returned to Echo with
// nothing written: its middlewares and its HTTPErrorHandler answer it.
func Handle[Tx any](door *httponce.Door[Tx], op *onceward.Operation, h func(c echo.Context, tx Tx) error) echo.HandlerFunc {
	serve := door.Adapt(op, func(w http.ResponseWriter, r *http.Request, tx Tx) error {
		c := r.Context().Value(contextKey{}).(echo.Context)
		request, response := c.Request(), c.Response()
		defer func() {
			c.SetRequest(request)
			c.SetResponse(response)
		}()
		c.SetRequest(r)
		c.SetResponse(echo.NewResponse(w, c.Echo()))
		return h(c, tx)
	})
	return func(c echo.Context) error {
		r := c.Request()
		return serve(c.Response(), r.WithContext(context.WithValue(r.Context(), contextKey{}, c)))
	}
}

type contextKey struct{}
