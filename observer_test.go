package onceward_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/onceward/onceward"
)

// recorder keeps what it is told.
type recorder struct {
	mu     sync.Mutex
	starts []onceward.Event
	ends   []onceward.Event
}

func (r *recorder) Start(ctx context.Context, e onceward.Event) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starts = append(r.starts, e)
	return context.WithValue(ctx, stepKey{}, e.Step)
}

func (r *recorder) End(_ context.Context, e onceward.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = append(r.ends, e)
}

type stepKey struct{}

// last is the last end of step.
func (r *recorder) last(step onceward.Step) (last onceward.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.ends {
		if e.Step == step {
			last = e
		}
	}
	return last
}

// steps are the steps that ended, in their order.
func (r *recorder) steps() (steps []string) {
	for _, e := range r.ends {
		steps = append(steps, string(e.Step)+" "+string(e.Note))
	}
	return steps
}

func TestObserverIsToldTheFlow(t *testing.T) {
	store, c := newProbe(), hasty.For(alice, "k", nil)
	told := func(what string, e *onceward.Engine[*tx], r *recorder, work onceward.Work[*tx], want ...string) {
		t.Helper()
		*r = recorder{}
		_ = do(t.Context(), e, c, work)
		if got := r.steps(); !slices.Equal(got, want) || len(r.starts) != len(r.ends) {
			t.Errorf("%s: told of %q (%d starts), want %q", what, got, len(r.starts), want)
		}
	}
	r := &recorder{}
	e := newEngine(t, store, onceward.Options{Observer: r})
	told("a failure", e, r, func(ctx context.Context, _ *tx) (onceward.Outcome, error) {
		if ctx.Value(stepKey{}) != onceward.StepRun {
			t.Error("the work's context is not the observer's")
		}
		return onceward.Outcome{}, errWork
	}, "identify ", "claim ", "run ")
	if run := r.last(onceward.StepRun); run.Err != errWork {
		t.Errorf("the run ended with %v", run.Err)
	}
	told("the first", e, r, says("ok"), "identify ", "claim ", "run ", "save ")
	told("a replay from memory", e, r, never(t), "identify ", "replay memory")
	fresh := newEngine(t, store, onceward.Options{Observer: r})
	told("a replay from the store", fresh, r, never(t), "identify ", "claim ", "replay ")
}

func TestObserverIsToldOfARefusedDuplicate(t *testing.T) {
	r := &recorder{}
	e := newEngine(t, newProbe(), onceward.Options{Observer: r})
	c := hasty.For(alice, "k", nil)
	_ = do(t.Context(), e, c, func(ctx context.Context, _ *tx) (onceward.Outcome, error) {
		wantError(t, do(ctx, e, c, never(t)).err, onceward.ErrInFlight)
		return onceward.Outcome{}, nil
	})
	if got, want := r.steps()[:3], []string{"identify ", "claim ", "identify "}; !slices.Equal(got, want) {
		t.Errorf("told of %q, want %q", got, want)
	}
	if got := r.steps()[3]; got != "claim shared" {
		t.Errorf("the refused duplicate was told as %q", got)
	}
	wantError(t, r.ends[3].Err, onceward.ErrInFlight)
}

func TestObserverIsToldOfAPanic(t *testing.T) {
	r := &recorder{}
	e := newEngine(t, newProbe(), onceward.Options{Observer: r})
	func() {
		defer func() { _ = recover() }()
		_ = do(t.Context(), e, hasty.For(alice, "k", nil), func(context.Context, *tx) (onceward.Outcome, error) { panic(errWork) })
	}()
	wantError(t, r.last(onceward.StepRun).Err, onceward.ErrAborted)
	wantCount(t, "starts less ends", int64(len(r.starts)-len(r.ends)), 0)
}

// every takes an engine through all that an observer may be told of, with texts that are easily recognised.
func every(t *testing.T, o onceward.Observer) {
	t.Helper()
	secret := onceward.Scope{Tenant: "SECRET-tenant", Principal: "SECRET-principal"}
	store := newProbe()
	for _, e := range []*onceward.Engine[*tx]{newEngine(t, store, onceward.Options{Observer: o}), newEngine(t, store, onceward.Options{Observer: o})} {
		c := hasty.For(secret, "SECRET-key", "SECRET-meaning")
		_ = do(t.Context(), e, c, says("SECRET-answer"))
		_ = do(t.Context(), e, c, never(t))
		_ = do(t.Context(), e, hasty.For(secret, "SECRET-key", "SECRET-other"), never(t))
		_ = do(t.Context(), e, hasty.For(secret, "SECRET-key-2", nil), func(context.Context, *tx) (onceward.Outcome, error) {
			return onceward.Outcome{}, errors.New("duplicate value SECRET-row")
		})
		_ = do(t.Context(), e, hasty.For(secret, "SECRET-key-3", []byte("SECRET")), func(context.Context, *tx) (onceward.Outcome, error) {
			return onceward.Outcome{Data: make([]byte, onceward.OutcomeBytesMaxDefault+1)}, nil
		})
		_ = do(t.Context(), e, hasty.For(secret, "SECRET-key-4", func() {}), never(t))
		sweeper, err := e.Sweeper(onceward.SweeperOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = sweeper.RunOnce(t.Context())
	}
	broken := losing(true)
	broken.onClaim = func(n int64) error {
		if n > 1 {
			return errors.New("SECRET-driver")
		}
		return nil
	}
	_ = do(t.Context(), newEngine(t, broken, onceward.Options{Observer: o, ResolveTimeout: 1}), hasty.For(secret, "SECRET", nil), says("SECRET"))
}

func TestEventHoldsNoKeyAndNoMeaning(t *testing.T) {
	r := &recorder{}
	every(t, r)
	steps := []onceward.Step{
		onceward.StepIdentify, onceward.StepClaim, onceward.StepRun, onceward.StepSave, onceward.StepReplay, onceward.StepSweep,
	}
	notes := []onceward.Note{onceward.NoteNone, onceward.NoteMemory, onceward.NoteResolved, onceward.NoteUntouched, onceward.NoteBacklog}
	for _, e := range slices.Concat(r.starts, r.ends) {
		if !slices.Contains(steps, e.Step) || !slices.Contains(notes, e.Note) {
			t.Errorf("%q and %q are not among the words", e.Step, e.Note)
		}
		e.Err = nil // may be the work's own or a driver's
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, "SECRET") {
			t.Errorf("the event tells what it must not: %s", text)
		}
	}
}

func TestSlogObserverTellsNoSecret(t *testing.T) {
	var log bytes.Buffer
	every(t, onceward.SlogObserver(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	if strings.Contains(log.String(), "SECRET") {
		t.Errorf("the log tells what it must not:\n%s", &log)
	}
	for _, want := range []string{
		"step=claim", "step=replay", "note=memory", "step=sweep", "deleted=0", "operation=create-order.v1", "id=", `error="the run failed"`,
		onceward.ErrKeyReused.Error(), onceward.ErrOutcomeTooLarge.Error(), onceward.ErrCommitUnresolved.Error(),
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not tell %q", want)
		}
	}
}

func TestSlogObserverLevels(t *testing.T) {
	for _, c := range []struct {
		event onceward.Event
		want  slog.Level
	}{
		{onceward.Event{Step: onceward.StepIdentify}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepIdentify, Err: onceward.ErrMeaning}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepReplay, Err: onceward.ErrMeaning}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepClaim}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepClaim, Err: errFront, Note: onceward.NoteSkipped}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepClaim, Err: onceward.ErrInFlight}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepClaim, Err: context.Canceled}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepClaim, Err: context.DeadlineExceeded}, slog.LevelError},
		{onceward.Event{Step: onceward.StepClaim, Err: onceward.ErrUnavailable}, slog.LevelError},
		{onceward.Event{Step: onceward.StepRun, Err: errWork}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepRun, Err: onceward.ErrOutcomeTooLarge}, slog.LevelWarn},
		{onceward.Event{Step: onceward.StepSave}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepSave, Note: onceward.NoteResolved}, slog.LevelInfo},
		{onceward.Event{Step: onceward.StepSave, Note: onceward.NoteUntouched}, slog.LevelWarn},
		{onceward.Event{Step: onceward.StepSave, Note: onceward.NoteUntouched, Err: onceward.ErrUntouched}, slog.LevelWarn},
		{onceward.Event{Step: onceward.StepSave, Err: onceward.ErrCommitUnresolved}, slog.LevelWarn},
		{onceward.Event{Step: onceward.StepSave, Err: onceward.ErrNotCommitted}, slog.LevelError},
		{onceward.Event{Step: onceward.StepReplay}, slog.LevelInfo},
		{onceward.Event{Step: onceward.StepReplay, Note: onceward.NoteMemory}, slog.LevelInfo},
		{onceward.Event{Step: onceward.StepReplay, Err: onceward.ErrKeyReused}, slog.LevelWarn},
		{onceward.Event{Step: onceward.StepReplay, Err: onceward.ErrExpired}, slog.LevelWarn},
		{onceward.Event{Step: onceward.StepSweep}, slog.LevelDebug},
		{onceward.Event{Step: onceward.StepSweep, Err: errWork}, slog.LevelError},
	} {
		var log bytes.Buffer
		o := onceward.SlogObserver(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		o.End(o.Start(t.Context(), c.event), c.event)
		if !strings.Contains(log.String(), "level="+c.want.String()) {
			t.Errorf("%+v is logged as %s, want %v", c.event, strings.TrimSpace(log.String()), c.want)
		}
	}
}

// stateError is a driver's error.
type stateError string

func (stateError) Error() string      { return "Key (s3cret) already exists" }
func (e stateError) SQLState() string { return string(e) }

// codeError is another's.
type codeError int

func (codeError) Error() string { return "UNIQUE constraint failed: s3cret" }
func (e codeError) Code() int   { return int(e) }

func TestReasonIsSafeToLog(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errWork, ""},
		{fmt.Errorf("%w: s3cret", onceward.ErrUnavailable), onceward.ErrUnavailable.Error()},
		{fmt.Errorf("%w: %w", onceward.ErrUnavailable, context.DeadlineExceeded), onceward.ErrUnavailable.Error() + "; " + context.DeadlineExceeded.Error()},
		{fmt.Errorf("%w: %w", onceward.ErrSchema, stateError("42P01")), onceward.ErrSchema.Error() + "; SQLSTATE 42P01"},
		{stateError("s3cret"), ""},
		{fmt.Errorf("s3cret: %w", codeError(2067)), "code 2067"},
		{&net.OpError{Op: "dial", Addr: &net.TCPAddr{}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, syscall.ECONNREFUSED.Error()},
	} {
		if got := onceward.Reason(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestFaultIsOneOfAList(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errWork, "failed"},
		{fmt.Errorf("%w: s3cret", onceward.ErrKeyReused), "key_reused"},
		{fmt.Errorf("%w: %w", onceward.ErrNotCommitted, onceward.ErrUnavailable), "not_committed"},
		{fmt.Errorf("%w: %w", onceward.ErrUnavailable, context.Canceled), "unavailable"},
	} {
		if got := (onceward.Event{Err: c.err}).Fault(); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

type nestingKey struct{}

// nesting is an observer that looks for what the one before it has put in the context.
type nesting struct {
	name string
	told *[]string
}

func (n nesting) Start(ctx context.Context, e onceward.Event) context.Context {
	before, _ := ctx.Value(nestingKey{}).(string)
	*n.told = append(*n.told, "start "+before+n.name)
	return context.WithValue(ctx, nestingKey{}, before+n.name)
}

func (n nesting) End(ctx context.Context, _ onceward.Event) {
	*n.told = append(*n.told, "end "+n.name+" in "+ctx.Value(nestingKey{}).(string))
}

func TestObserversAreAllTold(t *testing.T) {
	var told []string
	e := newEngine(t, newProbe(), onceward.Options{Observer: onceward.Observers(nesting{"a", &told}, nesting{"b", &told})})
	sweeper, err := e.Sweeper(onceward.SweeperOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sweeper.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"start a", "start ab", "end a in ab", "end b in ab"}
	if !slices.Equal(told[:4], want) {
		t.Errorf("they were told %q, want %q", told, want)
	}
	do(t.Context(), newEngine(t, newProbe(), onceward.Options{Observer: onceward.Observers()}), hasty.For(alice, "k", nil), says("ok")).wants(t, "ok", false)
}
