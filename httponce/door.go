package httponce

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/onceward/onceward"
)

// Door lets requests through to handlers once. It is safe for concurrent use.
type Door[Tx any] struct {
	engine  *onceward.Engine[Tx]
	options Options
	stored  []string // names of the recorded fields

	mu         sync.Mutex
	operations []admitted // for the contract, in the order of their registration
}

// New makes a door to an engine. A service has one door per set of options.
func New[Tx any](e *onceward.Engine[Tx], o Options) (*Door[Tx], error) {
	if e == nil {
		return nil, errors.New("httponce: New needs an engine")
	}
	if err := o.withDefaults().validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	o.shadow = e.Shadow()
	return &Door[Tx]{engine: e, options: o, stored: o.storedFields()}, nil
}

// admitted is an operation that the door serves.
type admitted struct {
	*onceward.Operation
	by bool // its key is in the request's input
}

// admit notes an operation that the door serves. One that is not valid, or that has another one's name, is a programming
// error and panics, as a pattern does that http.ServeMux cannot read.
func (d *Door[Tx]) admit(op *onceward.Operation, by bool) {
	if err := op.Validate(); err != nil {
		panic("httponce: " + err.Error())
	}
	if by && op.Window > 0 {
		panic("httponce: " + op.Name + ": JSONBy always has a key, so that the Window would mean nothing. Use JSON, or Retention for the time")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.operations {
		if a.Name == op.Name && a.Operation != op {
			panic("httponce: two operations are named " + op.Name + ": a request to one would be answered with a result of the other")
		}
	}
	if a := (admitted{op, by}); !slices.Contains(d.operations, a) {
		d.operations = append(d.operations, a)
	}
}

// route is a registered handler.
type route[Tx any] struct {
	door      *Door[Tx]
	operation *onceward.Operation
	decode    func(body []byte) (any, error)                   // makes and validates the input; nil where there is none
	by        func(r *http.Request, input any) (string, error) // the key; nil where it is in the field
	safe      http.Handler                                     // of the safe methods
	// run lets the handler answer, once per attempt.
	run func(tx Tx, v *visit, call *Call) (*reply, error)
}

// ServeHTTP implements http.Handler.
func (t *route[Tx]) ServeHTTP(w http.ResponseWriter, r *http.Request) { _ = t.pass(w, r, false) }

// pass answers a request; an adapter's, unless the handler failed with an error of its own: that is returned, and nothing
// is written.
func (t *route[Tx]) pass(w http.ResponseWriter, r *http.Request, adapter bool) error {
	if safe(r.Method) {
		t.safe.ServeHTTP(w, r)
		return nil
	}
	v := enter(t.operation, w, r)
	defer t.door.recover(v)
	err := t.serve(v)
	if err == nil {
		return nil
	}
	if own := handlers(err); own != nil && adapter {
		return own
	}
	t.door.refuse(v, err)
	return nil
}

func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// serve takes the visit through the engine; its errors are still to be answered.
func (t *route[Tx]) serve(v *visit) error {
	v.decode, v.by = t.decode, t.by
	if err := t.door.options.identify(v); err != nil {
		return err
	}
	if t.decode != nil {
		if err := v.declare(); err != nil {
			return err
		}
	}
	result, err := t.door.engine.Do(v.in.Context(), v.command, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		return t.attempt(ctx, tx, v)
	})
	switch {
	case err != nil:
		return err
	case !result.Replayed:
		v.send(v.answer, result.ID, nil)
		return nil
	}
	return t.door.replay(v, result)
}

// attempt runs the handler in one transaction. What is returned without an error is committed.
func (t *route[Tx]) attempt(ctx context.Context, tx Tx, v *visit) (onceward.Outcome, error) {
	v.ran, v.answer = true, nil
	call := newCall(ctx, v)
	defer v.removeFiles(call.Request)
	answer, err := t.run(tx, v, call)
	cause := err
	if err != nil {
		answer, err = t.door.mapped(v, err)
	}
	switch o := &t.door.options; {
	case err != nil:
		return onceward.Outcome{}, &failure{by: v, cause: err}
	case len(answer.body) > o.AnswerBytesMax:
		return onceward.Outcome{}, &failure{by: v, cause: errAnswerTooLarge}
	case !answer.final:
		return onceward.Outcome{}, &failure{by: v, cause: cause, refusal: answer}
	default:
		v.answer = answer
		return onceward.Outcome{Kind: outcomeKind, Data: o.store(answer, t.door.stored)}, nil
	}
}

// mapped is the answer to a handler's error: the one that it is, or the one that the service's table has for it.
func (d *Door[Tx]) mapped(v *visit, err error) (*reply, error) {
	answer := (*Answer)(nil)
	if !errors.As(err, &answer) {
		answer = d.options.Failure(err)
	}
	if answer == nil {
		return nil, err
	}
	return answer.render(v.id)
}

// failure is the error of a work that is not to be recorded: refused with an answer, or failed without. Duplicates that
// waited for the work get it as well.
type failure struct {
	by      *visit
	cause   error // the handler's; nil if it wrote its refusal
	refusal *reply
}

// Error names the status, or gives the handler's error.
func (f *failure) Error() string {
	if f.refusal == nil {
		return f.cause.Error()
	}
	return fmt.Sprintf("httponce: refused with %d", f.refusal.status)
}

// Unwrap gives the handler's error.
func (f *failure) Unwrap() error { return f.cause }

// handlers is the handler's error in err if nobody but its framework has an answer for it, or nil. An error that came
// from the engine, or from this package, is theirs to answer wherever it passed through.
func handlers(err error) error {
	f := (*failure)(nil)
	switch {
	case !errors.As(err, &f) || f.refusal != nil:
		return nil
	case errors.As(err, new(*onceward.Error)), errors.Is(err, onceward.ErrTxEnded), errors.Is(err, errAnswerTooLarge):
		return nil
	}
	return f.cause
}

// replay answers with what an earlier attempt recorded.
func (d *Door[Tx]) replay(v *visit, result onceward.Result) error {
	if result.Outcome.Kind != outcomeKind {
		return fmt.Errorf("httponce: the record of %s holds a %q, not an answer of this package", result.ID, result.Outcome.Kind)
	}
	if err := v.stored.decode(result.Outcome.Data); err != nil {
		return err
	}
	v.out.Header()[HeaderReplayed] = replayedValue
	answer := &v.stored.reply
	if v.stored.tombstone {
		problem := d.render(v, notStored.answer(""), result.ID)
		problem.fields = append(problem.fields, answer.fields...)
		answer = problem
	}
	v.send(answer, result.ID, nil)
	v.leave()
	return nil
}

var replayedValue = []string{"true"}

// refuse answers what was not carried out, or not for this caller.
func (d *Door[Tx]) refuse(v *visit, err error) {
	f := (*failure)(nil)
	ended := errors.Is(err, onceward.ErrTxEnded) // what the work did may stand: no refusal, which would say that it does not
	if errors.As(err, &f) && f.refusal != nil && !ended {
		keep := d.keeps
		if f.by == v {
			keep = nil
		}
		v.send(f.refusal, v.id(), keep)
		return
	}
	id := ""
	if engine := (*onceward.Error)(nil); errors.As(err, &engine) {
		id = engine.ID
	}
	if f != nil {
		id = v.id()
	}
	answer := (*Answer)(nil)
	switch {
	case ended:
		answer = d.failed(v, err)
	case errors.As(err, &answer):
		id = "" // the request is at fault: it has no result
	case errors.Is(err, onceward.ErrMeaning):
		answer, id = malformed(err), ""
	default:
		answer = d.failed(v, err)
	}
	v.send(d.render(v, answer, id), id, nil)
}

// render is Answer.render for an answer that is not a work's: one that cannot be rendered is a 500.
func (d *Door[Tx]) render(v *visit, answer *Answer, id string) *reply {
	known := func() string { return id }
	if v.keyless() {
		answer = withoutField(answer)
	}
	p, err := answer.render(known)
	if err != nil {
		d.report(v, err)
		p, _ = internal.answer("").render(known) // cannot fail: it is a constant
	}
	return p
}

func (d *Door[Tx]) keeps(name string) bool { return slices.Contains(d.stored, name) }

// failed is the problem that answers an error of the engine or an unknown one.
func (d *Door[Tx]) failed(v *visit, err error) *Answer {
	k, known := d.options.kindOf(v.command.Operation, err)
	f := (*failure)(nil)
	switch {
	case known:
	case !errors.As(err, &f):
		d.report(v, err)
	case f.by != v: // a failure that is shared is told by the one that ran the work
	case f.refusal != nil:
		d.report(v, err)
	default:
		d.report(v, f.cause)
	}
	answer := k.answer("")
	if k.retry {
		seconds := int64((d.options.RetryAfter + time.Second - 1) / time.Second)
		answer.Header = http.Header{"Retry-After": {strconv.FormatInt(seconds, 10)}}
	}
	return answer
}

func (d *Door[Tx]) report(v *visit, err error) {
	d.options.Report(newCall(v.in.Context(), v).Request, err)
}

// PanicError is a handler's panic as Options.Report is told of it. Its text names a runtime error, and of any other
// value only the Go type: the value may quote what the caller sent.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (p *PanicError) Error() string {
	if err, ok := p.Value.(interface {
		error
		RuntimeError()
	}); ok {
		return "httponce: panic: " + err.Error()
	}
	return fmt.Sprintf("httponce: panic with a value of type %T", p.Value)
}

// recover answers a panic with a 500 problem; the engine has rolled the work back on its way here.
// http.ErrAbortHandler goes on to net/http, which closes the connection without a word, and so does a panic after the
// response was begun.
func (d *Door[Tx]) recover(v *visit) {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler || v.sent {
		panic(value)
	}
	d.report(v, &PanicError{Value: value, Stack: debug.Stack()})
	id := ""
	if v.ran {
		id = v.id()
	}
	v.send(d.render(v, internal.answer(""), id), id, nil)
}
