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
	operations []*onceward.Operation // for the contract, in the order of their registration
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
	return &Door[Tx]{engine: e, options: o, stored: o.storedFields()}, nil
}

// admit notes an operation that the door serves. An operation that is not valid is a programming error and panics, as a
// pattern does that http.ServeMux cannot read.
func (d *Door[Tx]) admit(op *onceward.Operation) {
	if err := op.Validate(); err != nil {
		panic("httponce: " + err.Error())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.operations, op) {
		d.operations = append(d.operations, op)
	}
}

// job is a handler at one call: it answers, or it fails. It is run once per attempt.
type job[Tx any] interface {
	run(ctx context.Context, tx Tx, call *Call) (*reply, error)
}

// route is a registered handler. Start makes the job of one call; it may replace the call's meaning, and fails if the
// request is at fault.
type route[Tx any] struct {
	door      *Door[Tx]
	operation *onceward.Operation
	start     func(call *Call) (job[Tx], error)
	safe      http.Handler
}

// ServeHTTP implements http.Handler.
func (t *route[Tx]) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		t.safe.ServeHTTP(w, r)
		return
	}
	call := newCall(t.operation, w, r)
	defer t.door.recover(w, call)
	if err := t.serve(w, call); err != nil {
		t.door.refuse(w, call, err)
	}
}

// serve takes the call through the engine; its errors are still to be answered.
func (t *route[Tx]) serve(w http.ResponseWriter, call *Call) error {
	if err := t.door.identify(w, call); err != nil {
		return err
	}
	job, err := t.start(call)
	if err != nil {
		return err
	}
	result, err := t.door.engine.Do(call.Request.Context(), call.Command, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		return t.door.attempt(ctx, tx, call, job)
	})
	switch {
	case err != nil:
		return err
	case !result.Replayed:
		call.sent = true
		call.answer.send(w, result.ID, nil)
		return nil
	}
	return t.door.replay(w, call, result)
}

// attempt runs the work in one transaction. What is returned without an error is committed.
func (d *Door[Tx]) attempt(ctx context.Context, tx Tx, call *Call, job job[Tx]) (onceward.Outcome, error) {
	call.answer = nil
	call.rewind()
	answer, err := job.run(call.context(ctx), tx, call)
	if err != nil {
		cause := err
		if answer, err = d.mapped(call, err); err != nil {
			return onceward.Outcome{}, &failure{by: call, cause: err}
		}
		err = cause
	}
	switch {
	case len(answer.body) > d.options.AnswerBytesMax:
		return onceward.Outcome{}, &failure{by: call, cause: errAnswerTooLarge}
	case !answer.final:
		return onceward.Outcome{}, &failure{by: call, cause: err, refusal: answer}
	}
	call.answer = answer
	return onceward.Outcome{Kind: outcomeKind, Data: d.options.store(answer, d.stored)}, nil
}

// mapped is the answer to a handler's error: the one that it is, or the one that the service's table has for it.
func (d *Door[Tx]) mapped(call *Call, err error) (*reply, error) {
	answer := (*Answer)(nil)
	if !errors.As(err, &answer) {
		answer = d.options.Failure(err)
	}
	if answer == nil {
		return nil, err
	}
	return answer.render(call.ID().Public())
}

// failure is the error of a work that is not to be recorded: refused with an answer, or failed without. Duplicates that
// waited for the work get it as well.
type failure struct {
	by      *Call
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

// replay answers with what an earlier attempt recorded.
func (d *Door[Tx]) replay(w http.ResponseWriter, call *Call, result onceward.Result) error {
	if result.Outcome.Kind != outcomeKind {
		return fmt.Errorf("httponce: the record of %s holds a %q, not an answer of this package", result.ID, result.Outcome.Kind)
	}
	answer, err := decodeStored(result.Outcome.Data)
	if err != nil {
		return err
	}
	w.Header()[HeaderReplayed] = replayedValue
	if answer.tombstone {
		problem := d.render(call, notStored.answer(""), result.ID)
		problem.fields = append(problem.fields, answer.fields...)
		answer.reply = *problem
	}
	call.sent = true
	answer.send(w, result.ID, nil)
	return nil
}

var replayedValue = []string{"true"}

// refuse answers what was not carried out, or not for this caller.
func (d *Door[Tx]) refuse(w http.ResponseWriter, call *Call, err error) {
	f := (*failure)(nil)
	if errors.As(err, &f) && f.refusal != nil {
		keep := d.keeps
		if f.by == call {
			keep = nil
		}
		call.sent = true
		f.refusal.send(w, call.ID().Public(), keep)
		return
	}
	id := ""
	if engine := (*onceward.Error)(nil); errors.As(err, &engine) {
		id = engine.ID
	}
	answer := (*Answer)(nil)
	switch {
	case errors.As(err, &answer):
		id = ""
	case errors.Is(err, onceward.ErrMeaning):
		answer, id = malformed(err), ""
	default:
		answer = d.failed(call, err)
	}
	call.sent = true
	d.render(call, answer, id).send(w, id, nil)
}

// render is Answer.render for an answer that is not a work's: one that cannot be rendered is a 500.
func (d *Door[Tx]) render(call *Call, answer *Answer, id string) *reply {
	p, err := answer.render(id)
	if err != nil {
		d.report(call, err)
		p, _ = internal.answer("").render(id) // cannot fail: it is a constant
	}
	return p
}

func (d *Door[Tx]) keeps(name string) bool { return slices.Contains(d.stored, name) }

// failed is the problem that answers an error of the engine or an unknown one.
func (d *Door[Tx]) failed(call *Call, err error) *Answer {
	k, known := d.options.kindOf(call.Operation, err)
	if f := (*failure)(nil); !known && !(errors.As(err, &f) && f.by != call) { // another's is told by the one that ran it
		d.report(call, err)
	}
	answer := k.answer("")
	if k.retry {
		seconds := int64((d.options.RetryAfter + time.Second - 1) / time.Second)
		answer.Header = http.Header{"Retry-After": {strconv.FormatInt(seconds, 10)}}
	}
	return answer
}

func (d *Door[Tx]) report(call *Call, err error) {
	d.options.Report(call.Request.WithContext(call.context(call.Request.Context())), err)
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
func (d *Door[Tx]) recover(w http.ResponseWriter, call *Call) {
	value := recover()
	if value == nil {
		return
	}
	if value == http.ErrAbortHandler || call.sent {
		panic(value)
	}
	d.report(call, &PanicError{Value: value, Stack: debug.Stack()})
	call.sent = true
	sendProblem(w, internal)
}
