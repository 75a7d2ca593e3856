package onceward

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Step is a part of the flow; its text is the name of spans and metric labels.
type Step string

// The steps.
const (
	StepIdentify Step = "identify"
	StepClaim    Step = "claim"
	StepRun      Step = "run"
	StepSave     Step = "save"
	StepReplay   Step = "replay"
	StepSweep    Step = "sweep"
)

// Note says what was particular about a step that ended.
type Note string

// The notes.
const (
	NoteNone      Note = ""
	NoteMemory    Note = "memory"    // replay: answered from the process's memory
	NoteFront     Note = "front"     // claim, save: the front's part of it, before the store's and after; replay: answered from there
	NoteSkipped   Note = "skipped"   // claim, save: the front's part failed and was left out
	NoteShared    Note = "shared"    // claim: refused by, or given up waiting for, the attempt that runs in this process
	NoteResolved  Note = "resolved"  // save: the commit's end was unknown, or another's record stood, and was looked up
	NoteShadow    Note = "shadow"    // replay: it would have been replayed, or refused, and runs (see Shadow)
	NoteBacklog   Note = "backlog"   // sweep: what is left was counted
	NoteUntouched Note = "untouched" // save: the work wrote nothing through its transaction
)

// Event is one step of one command. It never holds a key or a meaning.
type Event struct {
	Step      Step
	Operation string        // empty for a sweep
	ID        string        // the public id; empty for a sweep
	Note      Note          // at the end
	Err       error         // at the end
	Took      time.Duration // at the end
	Deleted   int           // at the end of a sweep: records
	Backlog   *Backlog      // at the end of a sweep with NoteBacklog; nil where it could not be counted
}

// Observer is told when a step starts and when it ends. Start's context is the one that the step, and the work, go on
// with: a tracer puts its span there. Both are called from the goroutine that takes the step and must not block.
type Observer interface {
	Start(ctx context.Context, e Event) context.Context
	End(ctx context.Context, e Event)
}

// observe tells the observer that a step starts and returns what tells it the end.
func (e *Engine[Tx]) observe(ctx context.Context, step Step, c *call) (context.Context, func(Note, error)) {
	if e.options.Observer == nil {
		return ctx, unobserved
	}
	event := Event{Step: step, Operation: c.want.Operation, ID: c.want.ID.Public()}
	ctx, end := observeEvent(ctx, e.options.Observer, &event)
	return ctx, func(note Note, err error) {
		event.Note, event.Err = note, err
		end()
	}
}

// unobserved is not a literal in a generic method, which would be allocated for each call.
func unobserved(Note, error) {}

func observeEvent(ctx context.Context, o Observer, event *Event) (context.Context, func()) {
	began := time.Now()
	ctx = o.Start(ctx, *event)
	return ctx, func() {
		event.Took = time.Since(began)
		o.End(ctx, *event)
	}
}

// Observers tells each of several observers, in their order: of the start each gets the context that the one before it has
// returned, of the end the last of them.
func Observers(several ...Observer) Observer { return observers(several) }

type observers []Observer

// Start tells all of them.
func (o observers) Start(ctx context.Context, e Event) context.Context {
	for _, one := range o {
		ctx = one.Start(ctx, e)
	}
	return ctx
}

// End tells all of them.
func (o observers) End(ctx context.Context, e Event) {
	for _, one := range o {
		one.End(ctx, e)
	}
}

// SlogObserver logs each step's end: the ordinary ones, a work's own errors, malformed requests, duplicates in flight,
// callers that hung up and skipped fronts at debug level, replays and resolved commits at info, refusals, missed
// transactions and unresolved commits at warning, a store's failures at error level. Of an error it logs the Reason.
func SlogObserver(logger *slog.Logger) Observer { return slogObserver{logger} }

type slogObserver struct{ logger *slog.Logger }

// Start does nothing.
func (slogObserver) Start(ctx context.Context, _ Event) context.Context { return ctx }

// End logs e.
func (o slogObserver) End(ctx context.Context, e Event) {
	level := levelOf(e)
	if !o.logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("step", string(e.Step)), slog.Duration("took", e.Took)}
	if e.Step == StepSweep {
		attrs = append(attrs, slog.Int("deleted", e.Deleted))
		if e.Backlog != nil {
			attrs = append(attrs, slog.Int("backlog", e.Backlog.Records), slog.Duration("oldest", e.Backlog.Oldest))
		}
	} else {
		attrs = append(attrs, slog.String("operation", e.Operation), slog.String("id", e.ID))
	}
	if e.Note != NoteNone {
		attrs = append(attrs, slog.String("note", string(e.Note)))
	}
	if reason := reasonOf(e); reason != "" {
		attrs = append(attrs, slog.String("error", reason))
	}
	o.logger.LogAttrs(ctx, level, "onceward", attrs...)
}

func reasonOf(e Event) string {
	if e.Err == nil {
		return ""
	}
	if reason := Reason(e.Err); reason != "" {
		return reason
	}
	return "the " + string(e.Step) + " failed"
}

func levelOf(e Event) slog.Level {
	switch {
	case errors.Is(e.Err, ErrKeyReused), errors.Is(e.Err, ErrCommitUnresolved), errors.Is(e.Err, ErrExpired),
		errors.Is(e.Err, ErrNotIssued), errors.Is(e.Err, ErrTokenExpired),
		errors.Is(e.Err, ErrOutcomeTooLarge), e.Note == NoteUntouched:
		return slog.LevelWarn
	case errors.Is(e.Err, context.Canceled), errors.Is(e.Err, ErrMeaning), e.Note == NoteSkipped: // a front that is down fails every call
		return slog.LevelDebug
	case e.Err != nil && !errors.Is(e.Err, ErrInFlight) && e.Step != StepRun && e.Step != StepIdentify:
		return slog.LevelError
	case e.Step == StepReplay || e.Note == NoteResolved:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// Fault is Err in one word, for a label: one of a fixed list, "failed" for what is not on it, and nothing where the step
// succeeded.
func (e Event) Fault() string {
	if e.Err == nil {
		return ""
	}
	for _, f := range faults {
		if errors.Is(e.Err, f.err) {
			return f.word
		}
	}
	return "failed"
}

// faults are in the order in which they say most of an error that matches several.
var faults = []struct {
	err  error
	word string
}{
	{ErrInFlight, "in_flight"},
	{ErrKeyReused, "key_reused"},
	{ErrExpired, "expired"},
	{ErrNotIssued, "not_issued"},
	{ErrTokenExpired, "token_expired"},
	{ErrTxEnded, "tx_ended"},
	{ErrCommitUnresolved, "unresolved"},
	{ErrNotCommitted, "not_committed"},
	{ErrSchema, "schema"},
	{ErrUnavailable, "unavailable"},
	{ErrAborted, "aborted"},
	{ErrUntouched, "untouched"},
	{ErrOutcomeTooLarge, "outcome_too_large"},
	{ErrMeaning, "meaning"},
	{ErrCollision, "collision"},
	{context.Canceled, "cancelled"},
	{context.DeadlineExceeded, "timed_out"},
}
