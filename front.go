package onceward

import (
	"context"
	"time"

	"github.com/onceward/onceward/fingerprint"
)

// Front is a layer before the store that several processes share, such as Redis. It saves work and never decides: what
// it does not answer, or not in time, is asked of the store, and its errors only make the answer slower. An engine asks
// it for one caller per process and command at a time. Its methods are called concurrently and bound their own time.
type Front interface {
	// Claim returns the completed record of want.ID; its Life is what is left of it. Where there is none, it makes
	// want.Attempt the command's holder, or returns the fingerprint of the one who is that already: of its Version and
	// its Canonical. Where it returns neither, want goes on to the store.
	Claim(ctx context.Context, want *Record) (*Record, *fingerprint.Fingerprint, error)
	// Leave follows a Claim that returned no record: it keeps saved, which stands in the store, for its Life at most, and
	// then takes the hold from want.Attempt if that has it. Saved is nil where nothing is known to stand. The context is
	// one that nobody cancels.
	Leave(ctx context.Context, want, saved *Record) error
}

// enter asks the front. Only an operation that does not wait is refused by the holder, whose work may still roll back:
// such a caller would have to come again in any case.
func (e *Engine[Tx]) enter(ctx context.Context, call *call) (_ *Record, err error) {
	note, told := NoteFront, error(nil)
	ctx, end := e.observe(ctx, StepClaim, call)
	defer func() { end(note, told) }()
	began := time.Now()
	record, holder, failed := e.options.Front.Claim(ctx, &call.want)
	switch {
	case failed != nil:
		note, told = NoteSkipped, failed
	case record != nil && record.State == StateCompleted && record.Life > 0 && record.Names(&call.want):
		call.fronted = true
		e.memory.put(record, began)
		return record, nil
	case holder != nil && call.operation.Wait == 0:
		told = call.wrap(refusal(*holder, call))
		return nil, told
	}
	return nil, nil
}

// leave tells the front what stands now, before the answer goes out. It runs whatever way the attempt ended.
func (e *Engine[Tx]) leave(ctx context.Context, call *call) {
	ctx, end := e.observe(context.WithoutCancel(ctx), StepSave, call)
	var saved *Record
	if call.stands != nil {
		left := *call.stands
		left.Life = time.Until(call.until)
		saved = &left
	}
	if err := e.options.Front.Leave(ctx, &call.want, saved); err != nil {
		end(NoteSkipped, err)
		return
	}
	end(NoteFront, nil)
}

// keep gives record, which stands in the store, to the fronts. Its life was reported by a call that began at began.
func (e *Engine[Tx]) keep(call *call, record *Record, began time.Time) {
	e.memory.put(record, began)
	if record.State == StateCompleted {
		call.stands, call.until = record, began.Add(record.Life)
	}
}
