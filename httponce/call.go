package httponce

import (
	"context"
	"net/http"

	"github.com/onceward/onceward"
)

// Call is what a work may want to know of the request that it runs for: the caller's Scope, the Key and the ID of the
// command, for a business table that keeps them, and the request, for its path values, query and header.
type Call struct {
	onceward.Command
	// Request is the attempt's: its context is the work's, and its body can be read once.
	Request *http.Request
}

type callKey struct{}

// CallFrom gives the call that a work's context belongs to. It panics with a context that is not, or is not derived
// from, that of a handler of this package.
func CallFrom(ctx context.Context) *Call {
	call, ok := ctx.Value(callKey{}).(*Call)
	if !ok {
		panic("httponce: CallFrom needs the context that a handler was called with")
	}
	return call
}

// newCall makes the call of one attempt under its context.
func newCall(ctx context.Context, v *visit) *Call {
	call := &Call{Command: v.command}
	call.Request = v.rewound(context.WithValue(ctx, callKey{}, call))
	return call
}
