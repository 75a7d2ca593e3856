package onceward

import (
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

	fronted bool      // what is replayed comes from Options.Front
	stands  *Record   // for the front: what is known to stand in the store
	until   time.Time // and when its life ends
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
	return made
}

// calls are used again where they were answered from memory: then nobody else has seen them.
var calls = sync.Pool{New: func() any { return &call{} }}

// release gives c to the next caller.
func (c *call) release() {
	*c = call{} // keeps nothing alive
	calls.Put(c)
}

// ID identifies c in a store; every retry of c has the same. The command must have an operation.
func (c Command) ID() ID {
	call := newCall(c)
	defer call.release()
	return call.want.ID
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
