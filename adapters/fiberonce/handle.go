package fiberonce

import (
	"context"
	"io"
	"net/http"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// Handle serves an operation by a Fiber handler that gets its transaction as an argument. What it answers is held until
// the commit, and what becomes of it is decided as in httponce.Door.Handle: below 400 it is committed and recorded, a 4xx
// or 5xx is answered and rolled back, and so is a returned error. c.Context() is the work's context, c itself is not;
// httponce.CallFrom(c.Context()) is its call. Handle panics if the operation is not valid.
//
// An error that the door has no answer for (see httponce.Door.Adapt), such as a *fiber.Error, is returned to Fiber with the
// response as it was before the handler: its middlewares and its ErrorHandler answer it.
func Handle[Tx any](door *httponce.Door[Tx], op *onceward.Operation, h func(c fiber.Ctx, tx Tx) error) fiber.Handler {
	serve := door.Adapt(op, func(w http.ResponseWriter, r *http.Request, tx Tx) error {
		v := r.Context().Value(visitKey{}).(*visit)
		return v.attempt(w, r, func() error { return h(v.c, tx) })
	})
	return func(c fiber.Ctx) error {
		r, err := newRequest(&visit{Context: c.Context(), c: c, streams: c.Request().IsBodyStream()}, c)
		if err != nil {
			return fiber.ErrBadRequest
		}
		defer drain(r.Body, c.Response())
		return serve(newWriter(c.Response()), r)
	}
}

type visitKey struct{}

// visit is one request's passage through the door, and the context that it finds itself in.
type visit struct {
	context.Context
	c       fiber.Ctx
	streams bool // the body can be read once
}

// Value implements context.Context.
func (v *visit) Value(key any) any {
	if _, ok := key.(visitKey); ok {
		return v
	}
	return v.Context.Value(key)
}

// attempt has the handler run on Fiber's context. Afterwards its response is as it was before: what the handler answered
// is w's.
func (v *visit) attempt(w http.ResponseWriter, r *http.Request, run func() error) error {
	outer, before := v.c.Context(), fasthttp.AcquireResponse()
	response := v.c.Response()
	response.CopyTo(before)
	defer func() {
		before.CopyTo(response)
		fasthttp.ReleaseResponse(before)
		v.c.SetContext(outer)
	}()
	if v.streams {
		body, err := io.ReadAll(r.Body) // which the door has read and bounded
		if err != nil {
			return err
		}
		v.c.Request().SetBody(body)
	}
	v.c.SetContext(r.Context())
	if err := run(); err != nil {
		return err
	}
	return copyResponse(w, response)
}
