package onceward

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/onceward/onceward/fingerprint"
)

// call is one caller's passage through the engine.
type call struct {
	operation *Operation
	meaning   fingerprint.Meaning
	want      Record  // the claim
	record    *Record // what a front answered
	refused   bool    // by the running attempt of this process

	subject string    // what the token was issued for that is the key
	submit  time.Time // until when it can be submitted

	wroteNothing bool // the work says so

	fronted bool      // what is replayed comes from Options.Front
	stands  *Record   // for the front: what is known to stand in the store
	until   time.Time // and when its life ends
}

// callKey is where a work's context has its call.
type callKey struct{}

// WroteNothing is for a work that has found its effect there, by a unique key of its own that outlives the record: it says
// that this work has written no rows, and means it, so that the engine does not report a missed transaction. It is called
// with the work's context, before the work returns; with any other it does nothing. Where no work of an operation writes,
// Operation.WritesNothing says so.
func WroteNothing(ctx context.Context) {
	if call, ok := ctx.Value(callKey{}).(*call); ok {
		call.wroteNothing = true
	}
}

func newCall(c Command) *call {
	scope := c.Scope
	if c.Operation.Per == Tenant {
		scope.Principal = ""
	}
	made := calls.Get().(*call)
	*made = call{operation: c.Operation, want: Record{
		ID:        idOf(c.Operation.Name, scope, c.Key),
		Operation: c.Operation.Name,
		Scope:     scope,
		Key:       c.Key,
		Life:      c.Operation.retention(),
		Keep:      c.Operation.RefuseExpired,
	}}
	if c.windowed {
		made.want.Life = c.Operation.Window
	}
	// A token's result is in the way as long as the token could be submitted: it is never claimed anew.
	made.want.Keep = max(made.want.Keep, c.Operation.Submit)
	return made
}

// calls are used again where they were answered from memory: then nobody else has seen them.
var calls = sync.Pool{New: func() any { return &call{} }}

// release gives c to the next caller.
func (c *call) release() {
	*c = call{} // keeps nothing alive
	calls.Put(c)
}

// ID identifies c in a store; every retry of c has the same. The command must have an operation, and a key: see Identified.
func (c Command) ID() ID {
	call := newCall(c)
	defer call.release()
	return call.want.ID
}

// identified is c with a key, and valid.
func (c Command) identified() (Command, error) {
	if err := c.Operation.Validate(); err != nil {
		return c, err
	}
	c, err := c.Identified()
	if err != nil {
		return c, newCall(c).wrap(err)
	}
	return c, c.validate()
}

// refuse is wrap for what a duplicate is told that did not get as far as a claim of its own.
func (c *call) refuse(err error) error {
	c.refused = true
	return c.wrap(err)
}

// wrap adds the operation and the public id, once.
func (c *call) wrap(err error) error {
	if wrapped := (*Error)(nil); errors.As(err, &wrapped) {
		return err
	}
	return &Error{Operation: c.want.Operation, ID: c.want.ID.Public(), Err: err}
}
