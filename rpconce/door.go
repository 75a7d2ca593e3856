package rpconce

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// The fields of requests and answers, as gRPC and HTTP/2 spell them.
const (
	HeaderKey      = "idempotency-key"
	HeaderReplayed = "idempotent-replayed"
	HeaderID       = "idempotency-id"
)

// The kinds of outcomes: a message, and a concluded error as a google.rpc.Status, both in the binary encoding.
const (
	KindMessage = "proto"
	KindStatus  = "proto status"
)

// Defaults of Options.
const (
	KeyBytesMaxDefault = 255
	RetryAfterDefault  = time.Second
)

// Options of a Door. Scope is required; otherwise the zero value works. The functions are called concurrently.
type Options struct {
	// Scope tells who asks, from the authenticated caller of the context and never from what he may write himself. Its
	// error is answered as unauthenticated, or as it is where it is the protocol's own. Required.
	Scope func(context.Context) (onceward.Scope, error)
	// Authorize is asked on every call, retries included, before anything that depends on a record is answered. Its error
	// is answered as permission denied, or as it is where it is the protocol's own. Defaults to nil: whoever has a scope may.
	Authorize func(context.Context, *Call) error
	// Report is told of what is answered as internal: an error of the engine, which its text may quote. Defaults to logging
	// what onceward.Reason says of it, the operation and the public id with slog.Default.
	Report func(context.Context, *Call, error)
	// Strict takes only the quoted form of the key. Defaults to false: a bare key is the same key.
	Strict bool
	// KeyBytesMax bounds a key, in bytes without quotes and escapes. At most onceward.KeyBytesMax. Defaults to 255.
	KeyBytesMax int
	// RetryAfter is what a caller who should come again is told to wait. Defaults to 1 s.
	RetryAfter time.Duration
}

// Door lets calls through to handlers once. It is safe for concurrent use.
type Door[Tx any] struct {
	engine  *onceward.Engine[Tx]
	options Options
}

// New makes a door to an engine. A service has one door per set of options.
func New[Tx any](e *onceward.Engine[Tx], o Options) (*Door[Tx], error) {
	o.KeyBytesMax = orDefault(o.KeyBytesMax, KeyBytesMaxDefault)
	o.RetryAfter = orDefault(o.RetryAfter, RetryAfterDefault)
	if o.Report == nil {
		o.Report = report
	}
	switch {
	case e == nil:
		return nil, errors.New("rpconce: New needs an engine")
	case o.Scope == nil:
		return nil, errors.New("rpconce: Options.Scope is required: it tells the authenticated caller")
	case o.KeyBytesMax < 0 || o.KeyBytesMax > onceward.KeyBytesMax:
		return nil, fmt.Errorf("rpconce: Options.KeyBytesMax %d must be between 1 and %d", o.KeyBytesMax, onceward.KeyBytesMax)
	case o.RetryAfter < 0:
		return nil, fmt.Errorf("rpconce: Options.RetryAfter %v must not be negative", o.RetryAfter)
	}
	return &Door[Tx]{engine: e, options: o}, nil
}

func orDefault[T comparable](value, other T) T {
	var zero T
	if value == zero {
		return other
	}
	return value
}

// Call is a request to a procedure, and what a work may want to know of it: the caller's Scope, the Key and the ID of the
// command, for a business table that keeps them.
type Call struct {
	onceward.Command
	// Procedure is the full name: "/shop.v1.Orders/CreateOrder".
	Procedure string
	// Message is the request. It may be read, not changed.
	Message any
}

type callKey struct{}

// CallFrom gives the call that a work's context belongs to. It panics with a context that is not, or is not derived from,
// that of a work of this package.
func CallFrom(ctx context.Context) *Call {
	call, ok := ctx.Value(callKey{}).(*Call)
	if !ok {
		panic("rpconce: CallFrom needs the context that a handler was called with")
	}
	return call
}

// Prefix begins the meaning of a call to the procedure; the message in its deterministic encoding follows. Nothing may be
// appended in place.
func Prefix(procedure string) []byte { return slices.Clip(append([]byte(procedure), 0)) }

// Do answers a call to op for an adapter. Keys are the lines of HeaderKey, meaning is what Prefix says, and is kept. The
// error is the work's own or an *Error.
func (d *Door[Tx]) Do(ctx context.Context, op *onceward.Operation, call *Call, keys []string, meaning []byte, work onceward.Work[Tx]) (onceward.Result, error) {
	call.Operation, call.Meaning = op, meaning
	if err := d.identify(ctx, call, keys); err != nil {
		return onceward.Result{}, err
	}
	result, err := d.do(ctx, call, work)
	if fault := (*Error)(nil); errors.As(err, &fault) && fault.Code == Internal {
		d.options.Report(ctx, call, fault.Err)
	}
	return result, err
}

func (d *Door[Tx]) do(ctx context.Context, call *Call, work onceward.Work[Tx]) (onceward.Result, error) {
	result, err := d.engine.Do(ctx, call.Command, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		return work(context.WithValue(ctx, callKey{}, call), tx)
	})
	if err != nil {
		return onceward.Result{}, d.translate(err)
	}
	if kind := result.Outcome.Kind; kind != KindMessage && kind != KindStatus {
		return onceward.Result{}, d.fault(internal, "", fmt.Errorf("rpconce: the record of %s holds a %q, no message", result.ID, kind))
	}
	return result, nil
}

// identify finds out who asks for what. It claims nothing; its errors are those of the request.
func (d *Door[Tx]) identify(ctx context.Context, call *Call, keys []string) (err error) {
	if call.Scope, err = d.options.Scope(ctx); err != nil {
		return d.fault(unauthenticated, "", err)
	}
	if call.Key, err = httponce.ParseKey(keys, d.options.Strict, d.options.KeyBytesMax); err != nil && d.engine.Shadow() != nil {
		d.engine.Shadow().NoKey(call.Operation)
		call.Key, err = rand.Text(), nil
	}
	if err != nil {
		return d.fault(keyFault(err), "", err)
	}
	if d.options.Authorize != nil {
		if err := d.options.Authorize(ctx, call); err != nil {
			return d.fault(forbidden, "", err)
		}
	}
	return nil
}

// report is the default of Options.Report.
func report(ctx context.Context, call *Call, err error) {
	slog.Default().LogAttrs(ctx, slog.LevelError, "rpconce: answered as internal", slog.String("error", onceward.Reason(err)),
		slog.String("operation", call.Operation.Name), slog.String("id", call.ID().Public()))
}
