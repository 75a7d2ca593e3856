package ginonce

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// Handle serves an operation by a Gin handler that gets its transaction as an argument. What it writes is held until the
// commit, and what becomes of it is decided as in httponce.Door.Handle: below 400 it is committed and recorded, a written
// 4xx or 5xx is answered and rolled back, and so is a returned error. c.Request carries the work's context;
// httponce.CallFrom(c.Request.Context()) is its call. Handle panics if the operation is not valid.
//
// An error that the door has no answer for (see httponce.Door.Adapt) is Gin's: it is attached to c.Errors, the chain is
// aborted, and the status is set to 500 and not yet written, so that an error middleware can answer. An error that the
// handler attached with c.Error counts as returned, unless the handler has written a body; a status of 400 and above
// that it has set beside it, by c.AbortWithError, is kept.
func Handle[Tx any](door *httponce.Door[Tx], op *onceward.Operation, h func(c *gin.Context, tx Tx) error) gin.HandlerFunc {
	serve := door.Adapt(op, func(w http.ResponseWriter, r *http.Request, tx Tx) error {
		v := r.Context().Value(visitKey{}).(*visit)
		return v.attempt(w, r, func() error { return h(v.c, tx) })
	})
	return func(c *gin.Context) {
		v := &visit{c: c, request: c.Request, writer: c.Writer, errors: len(c.Errors)}
		err := serve(c.Writer, c.Request.WithContext(context.WithValue(c.Request.Context(), visitKey{}, v)))
		v.leave(err)
	}
}

type visitKey struct{}

// visit is one request's passage through the door, and what Gin's context had when it began.
type visit struct {
	c       *gin.Context
	request *http.Request
	writer  gin.ResponseWriter
	errors  int  // attached before
	failed  bool // the last attempt
}

// attempt has the handler run on Gin's context with the attempt's request and an answer that is held.
func (v *visit) attempt(w http.ResponseWriter, r *http.Request, run func() error) error {
	held := &writer{ResponseWriter: w, status: http.StatusOK, size: notWritten}
	v.c.Request, v.c.Writer, v.c.Errors, v.failed = r, held, v.c.Errors[:v.errors], true
	defer func() { v.c.Request, v.c.Writer = v.request, v.writer }()
	err := run()
	if attached := v.c.Errors[v.errors:]; err == nil && len(attached) > 0 && held.size <= 0 {
		err = &failure{attached[len(attached)-1], held.status}
	}
	if v.failed = err != nil; !v.failed {
		held.WriteHeaderNow()
	}
	return err
}

// leave gives Gin the error that is its to answer, or takes away those that the door has answered.
func (v *visit) leave(err error) {
	if err == nil {
		if v.failed {
			v.c.Errors = v.c.Errors[:v.errors]
		}
		return
	}
	status := http.StatusInternalServerError
	if f := (*failure)(nil); errors.As(err, &f) && f.status >= http.StatusBadRequest {
		status = f.status
	}
	if len(v.c.Errors) == v.errors {
		_ = v.c.Error(err)
	}
	v.c.Abort()
	v.c.Status(status)
}

// failure is an error that a handler attached, and the status beside it, for all requests that it failed for.
type failure struct {
	err    *gin.Error
	status int
}

// Error is the attached error's text.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap gives the attached error.
func (f *failure) Unwrap() error { return f.err }
