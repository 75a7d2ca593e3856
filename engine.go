package onceward

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/fingerprint"
)

// Engine owns the flow. It is safe for concurrent use; it starts nothing in the background.
type Engine[Tx any] struct {
	store   Store[Tx]
	options Options
	memory  memory
	flight  flight
}

// New makes an engine on a store.
func New[Tx any](store Store[Tx], options Options) (*Engine[Tx], error) {
	if store == nil {
		return nil, errors.New("onceward: New needs a store")
	}
	if err := options.validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	return &Engine[Tx]{
		store:   store,
		options: options,
		memory:  memory{bytesMax: options.MemoryBytesMax},
		flight:  flight{followersMax: options.FollowersMax},
	}, nil
}

// Work is what runs once: its rows go through tx, and nil commits them together with the outcome. An error, a panic or
// runtime.Goexit rolls back, and nothing is recorded. Tx is dead once the work has returned.
type Work[Tx any] func(ctx context.Context, tx Tx) (Outcome, error)

// Result is what a command is answered.
type Result struct {
	Outcome  Outcome
	Replayed bool   // the outcome is an earlier attempt's
	ID       string // the public id (see ID.Public)
}

// Do answers c: it runs work and records its outcome, or replays the outcome that an earlier attempt recorded. A work's
// own error is returned as it is, to the caller and to the duplicates that waited for it; errors of the engine are an
// *Error around one of the package's sentinels. A cancelled ctx reaches the work, but never the saving or rolling back.
// Do inside a work is an attempt of its own, which stands or falls alone and needs a second connection while the work
// holds its own; use Join there.
func (e *Engine[Tx]) Do(ctx context.Context, c Command, work Work[Tx]) (Result, error) {
	if e.options.Shadow != nil {
		return e.shadow(ctx, c, work)
	}
	call, err := e.identify(ctx, c)
	if err != nil {
		return Result{}, err
	}
	if call.record != nil {
		defer call.release()
		return e.replay(ctx, call, call.record)
	}
	record, err := e.flight.share(ctx, call, func(wait time.Duration, runs func()) (*Record, error) {
		if e.options.Front != nil {
			if record, err := e.enter(ctx, call); record != nil || err != nil {
				return record, err
			}
			defer e.leave(ctx, call)
		}
		attempt, record, err := e.claim(ctx, call, wait)
		if err != nil || record != nil {
			return record, err
		}
		if err := e.late(ctx, call, attempt); err != nil {
			return nil, err
		}
		runs()
		outcome, err := e.run(ctx, call, attempt, work)
		if err != nil {
			return nil, err
		}
		return e.save(ctx, call, attempt, outcome)
	})
	if err != nil {
		if call.refused { // without a claim of its own, but the counts of claims have to show it
			_, end := e.observe(ctx, StepClaim, call)
			end(NoteShared, err)
		}
		return Result{}, err
	}
	return e.replay(ctx, call, record)
}

// Once is Do for work without an outcome: a message's consumer, whose key is the message's identity. Acknowledge the
// message where it returns nil; at any error, ErrInFlight included, let it be delivered again.
func (e *Engine[Tx]) Once(ctx context.Context, c Command, work func(ctx context.Context, tx Tx) error) error {
	_, err := e.Do(ctx, c, func(ctx context.Context, tx Tx) (Outcome, error) { return Outcome{}, work(ctx, tx) })
	return err
}

// Run is Do for work that returns a value, which is stored and answered as JSON: the first caller, too, gets the value
// as it was stored.
func Run[T, Tx any](ctx context.Context, e *Engine[Tx], c Command, work func(ctx context.Context, tx Tx) (T, error)) (T, error) {
	result, err := e.Do(ctx, c, asJSON(work))
	return fromJSON[T](result, err)
}

// Join is Run inside a transaction that the caller owns: the record stands if and only if that transaction commits. It
// does not wait: while another attempt runs it returns ErrInFlight, after which the transaction is still usable. On a
// work's error the work's rows are rolled back and the transaction is still usable. Where Tx is an interface, the
// transaction is converted to it: Join(ctx, engine, sqlstore.Tx(tx), …).
func Join[T, Tx any](ctx context.Context, e *Engine[Tx], tx Tx, c Command, work func(ctx context.Context, tx Tx) (T, error)) (T, error) {
	result, err := e.join(ctx, tx, c, asJSON(work))
	return fromJSON[T](result, err)
}

func (e *Engine[Tx]) join(ctx context.Context, tx Tx, c Command, work Work[Tx]) (Result, error) {
	claim := func(call *call) (Attempt[Tx], *Record, error) {
		if err := e.present(ctx, call); err != nil {
			return nil, nil, err
		}
		return e.store.Join(ctx, tx, &call.want)
	}
	if e.options.Shadow != nil {
		call, attempt, err := e.shadowClaim(ctx, c, claim)
		if err != nil {
			return Result{}, err
		}
		return e.runJoined(ctx, call, attempt, work)
	}
	call, err := e.identify(ctx, c)
	if err != nil {
		return Result{}, err
	}
	if call.record != nil { // an earlier attempt's, which is committed; the claim is not complete then
		defer call.release()
		return e.replay(ctx, call, call.record)
	}
	attempt, record, err := claim(call)
	switch {
	case err != nil:
		return Result{}, call.wrap(err)
	case record != nil:
		return e.replay(ctx, call, record)
	}
	if err := e.late(ctx, call, attempt); err != nil {
		return Result{}, err
	}
	return e.runJoined(ctx, call, attempt, work)
}

// runJoined is the part of join that follows its claim.
func (e *Engine[Tx]) runJoined(ctx context.Context, call *call, attempt Attempt[Tx], work Work[Tx]) (Result, error) {
	outcome, err := e.run(ctx, call, attempt, work)
	if err != nil {
		return Result{}, err
	}
	switch _, err = attempt.Save(ctx, outcome); {
	case errors.Is(err, ErrTaken):
		return Result{}, call.wrap(fmt.Errorf("%w: %w", ErrInFlight, err))
	case err != nil:
		return Result{}, call.wrap(err)
	}
	return e.replay(ctx, call, call.want.Saved(outcome))
}

// Find answers with the record of c, or nil, without running anything; the meaning is not compared. Its state is
// StateExpired past its life, StateIssued for a token that was not submitted yet, and StateRunning for an attempt of this
// process; an attempt of another process that has not committed cannot be seen.
func (e *Engine[Tx]) Find(ctx context.Context, c Command) (*Record, error) {
	c, err := c.identified()
	if err != nil {
		return nil, err
	}
	call := newCall(c)
	record, err := e.store.Find(ctx, &call.want)
	switch {
	case err != nil:
		return nil, call.wrap(err)
	case record == nil && e.flight.running(call.want.ID):
		running := call.want
		running.State = StateRunning
		return &running, nil
	case record == nil && c.Operation.Submit > 0:
		return e.findToken(ctx, call)
	case record != nil && record.Life <= 0:
		record.State = StateExpired
	}
	return record, nil
}

// identify checks c, gives it its id and the fingerprint of its meaning, and asks the process's memory, for which the
// cheap digest of the meaning is enough.
func (e *Engine[Tx]) identify(ctx context.Context, c Command) (_ *call, err error) {
	if c, err = c.identified(); err != nil {
		return nil, err
	}
	call := newCall(c)
	_, end := e.observe(ctx, StepIdentify, call)
	defer func() { end(NoteNone, err) }()
	if call.meaning, err = fingerprint.Value(c.Meaning); err != nil {
		return nil, call.wrap(fmt.Errorf("%w: %w", ErrMeaning, err))
	}
	if call.record = e.memory.get(call.want.ID, time.Now()); call.record != nil {
		return call, nil
	}
	if call.want.Fingerprint, err = fingerprint.Of(call.meaning); err != nil {
		return nil, call.wrap(fmt.Errorf("%w: %w", ErrMeaning, err))
	}
	_, _ = rand.Read(call.want.Attempt[:]) // never fails (crypto/rand)
	return call, nil
}

func (e *Engine[Tx]) claim(ctx context.Context, call *call, wait time.Duration) (_ Attempt[Tx], _ *Record, err error) {
	ctx, end := e.observe(ctx, StepClaim, call)
	defer func() { end(NoteNone, err) }()
	if err := e.present(ctx, call); err != nil {
		return nil, nil, err
	}
	began := time.Now()
	attempt, record, err := e.store.Claim(ctx, &call.want, wait)
	if err != nil {
		return nil, nil, call.wrap(err)
	}
	if record != nil {
		e.keep(call, record, began)
	}
	return attempt, record, nil
}

// run gives the work its transaction. Whatever way the work ends, panic and Goexit included, a claim that is not to be
// saved is rolled back, under a context that no caller can cancel.
func (e *Engine[Tx]) run(ctx context.Context, call *call, attempt Attempt[Tx], work Work[Tx]) (outcome Outcome, err error) {
	worked, end := e.observe(context.WithValue(ctx, callKey{}, call), StepRun, call)
	err = ErrAborted // what stands if the work does not return
	keep := false
	defer func() {
		if !keep {
			if lost := e.rollback(ctx, call, attempt); lost != nil {
				err = errors.Join(err, lost)
			}
		}
		end(NoteNone, err)
	}()
	worked, cancel := context.WithTimeout(worked, e.options.WorkTimeout)
	defer cancel()
	outcome, err = work(worked, attempt.Tx())
	if err == nil && (len(outcome.Data) > e.options.OutcomeBytesMax || len(outcome.Kind) > KindBytesMax) {
		err = call.wrap(fmt.Errorf("%w: %d bytes of at most %d, a kind of %d bytes of at most %d",
			ErrOutcomeTooLarge, len(outcome.Data), e.options.OutcomeBytesMax, len(outcome.Kind), KindBytesMax))
	}
	keep = err == nil
	return outcome, err
}

func (e *Engine[Tx]) rollback(ctx context.Context, call *call, attempt Attempt[Tx]) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.options.SaveTimeout)
	defer cancel()
	if err := attempt.Rollback(ctx); err != nil {
		return call.wrap(err)
	}
	return nil
}

// save commits the work together with its record. Its context ends with its time only, so that a caller who hangs up
// cannot leave the end of an attempt to chance.
func (e *Engine[Tx]) save(ctx context.Context, call *call, attempt Attempt[Tx], outcome Outcome) (_ *Record, err error) {
	note := NoteNone
	ctx, end := e.observe(context.WithoutCancel(ctx), StepSave, call)
	defer func() { end(note, err) }()
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, e.options.SaveTimeout)
	defer cancel()
	record := call.want.Saved(outcome)
	untouched, err := attempt.Save(limited, outcome)
	switch {
	case errors.Is(err, ErrTaken), errors.Is(err, ErrCommitUnknown):
		note = NoteResolved
		if record, err = e.settle(ctx, call, err); err != nil {
			return nil, call.wrap(err)
		}
	case errors.Is(err, ErrTxEnded):
		return nil, call.wrap(err) // what the work committed by raw SQL stands: ErrNotCommitted would invite a retry
	case err != nil:
		return nil, call.wrap(fmt.Errorf("%w: %w", ErrNotCommitted, err))
	}
	e.keep(call, record, began)
	if untouched && !call.operation.WritesNothing && !call.wroteNothing {
		note = NoteUntouched
		if e.options.FailUntouched {
			return nil, call.wrap(ErrUntouched)
		}
	}
	return record, nil
}

// settle learns what stands after an attempt whose end is not known. It claims the same command again: a claim is only
// to be had once the earlier transaction has ended, and what is read then is final.
func (e *Engine[Tx]) settle(ctx context.Context, call *call, cause error) (*Record, error) {
	ctx, cancel := context.WithTimeout(ctx, e.options.ResolveTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	want := call.want
	want.Keep = RetentionMax // a record of ours that has expired meanwhile is still the proof of our commit
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		attempt, record, err := e.store.Claim(ctx, &want, time.Until(deadline))
		switch {
		case err == nil && record != nil && (record.Life > 0 || record.Attempt == want.Attempt):
			return record, nil
		case err == nil:
			if attempt != nil {
				_ = e.rollback(ctx, call, attempt) // it holds nothing but the claim
			}
			return nil, fmt.Errorf("%w: %w", ErrNotCommitted, cause)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w (after %w)", ErrCommitUnresolved, err, cause)
		}
	}
}

// replay answers call with a record that stands: its own attempt's, or an earlier one's if the meaning is the same.
func (e *Engine[Tx]) replay(ctx context.Context, call *call, record *Record) (_ Result, err error) {
	result := Result{Outcome: record.Outcome, ID: record.ID.Public()}
	if record.Attempt == call.want.Attempt && call.record == nil {
		return result, nil
	}
	_, end := e.observe(ctx, StepReplay, call)
	note := NoteNone
	defer func() { end(note, err) }()
	switch {
	case e.options.Shadow != nil:
		note = NoteShadow
	case call.record != nil:
		note = NoteMemory
	case call.fronted:
		note = NoteFront
	}
	same, err := record.Fingerprint.Same(call.meaning)
	switch {
	case err == nil && !same:
		return Result{}, call.wrap(ErrKeyReused) // before the state: another action learns nothing of this one
	case record.Life <= 0:
		return Result{}, call.wrap(ErrExpired)
	case err != nil && errors.Is(err, fingerprint.ErrVersion):
		// A newer process wrote the record (a deploy under way); it can tell, this one cannot.
		return Result{}, call.wrap(fmt.Errorf("%w: %w", ErrUnavailable, err))
	case err != nil:
		return Result{}, call.wrap(fmt.Errorf("%w: %w", ErrMeaning, err))
	}
	result.Replayed = true
	return result, nil
}

func asJSON[T, Tx any](work func(context.Context, Tx) (T, error)) Work[Tx] {
	return func(ctx context.Context, tx Tx) (Outcome, error) {
		value, err := work(ctx, tx)
		if err != nil {
			return Outcome{}, err
		}
		data, err := json.Marshal(value)
		return Outcome{Kind: "json", Data: data}, err
	}
}

func fromJSON[T any](result Result, err error) (value T, _ error) {
	if err != nil {
		return value, err
	}
	if result.Outcome.Kind != "json" {
		return value, fmt.Errorf("onceward: the outcome is %q, not a value that Run or Join stored", result.Outcome.Kind)
	}
	return value, json.Unmarshal(result.Outcome.Data, &value)
}
