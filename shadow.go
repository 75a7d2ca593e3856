package onceward

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// shadowLife is how long the record of a command stays that ran although it would not have.
const shadowLife = time.Second

// Shadow is for adopting onceward where clients send duplicates already: as Options.Shadow it has the engine record and
// compare as ever, but refuse and replay nothing. Every command runs its work, and what would have become of it is
// counted. The observer is told command by command: of a duplicate by a replay step with NoteShadow. The zero value is ready for use; it is
// safe for concurrent use, by several engines too.
type Shadow struct {
	mu     sync.Mutex
	counts map[string]*ShadowCount // by operation: as many as the service has
}

// ShadowCount tells of one operation what would have become of its commands.
type ShadowCount struct {
	Operation  string
	Commands   int64 // all of them
	Duplicates int64 // would have been replayed
	Reused     int64 // would have been refused: the key stood for another meaning
	InFlight   int64 // would have waited, or been refused: the first attempt still ran
	Expired    int64 // would have been refused: the time of their result, or of their token, was over
	Unknown    int64 // would have been refused: their key was no token that was issued to them
	NoKey      int64 // would have been refused: without a key, or with one that cannot be stored
	NoMeaning  int64 // would have been refused: their meaning has no canonical form
}

// Report is what was counted so far, in the order of the operations' names.
func (s *Shadow) Report() []ShadowCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	var report []ShadowCount
	for _, name := range slices.Sorted(maps.Keys(s.counts)) {
		report = append(report, *s.counts[name])
	}
	return report
}

// String is the report as a table for people.
func (s *Shadow) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%-40s %10s %10s %10s %10s %10s %10s %10s %10s\n",
		"operation", "commands", "duplicates", "reused", "in flight", "expired", "unknown", "no key", "no meaning")
	for _, c := range s.Report() {
		fmt.Fprintf(&text, "%-40s %10d %10d %10d %10d %10d %10d %10d %10d\n",
			c.Operation, c.Commands, c.Duplicates, c.Reused, c.InFlight, c.Expired, c.Unknown, c.NoKey, c.NoMeaning)
	}
	return text.String()
}

// NoKey counts a command that a door would have refused for want of a usable key, before the engine saw it. The door
// gives it a key of its own and lets it through, which counts the command.
func (s *Shadow) NoKey(op *Operation) { s.count(op, func(c *ShadowCount) { c.NoKey++ }) }

func (s *Shadow) count(op *Operation, count func(*ShadowCount)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[string]*ShadowCount{}
	}
	c := s.counts[op.Name]
	if c == nil {
		c = &ShadowCount{Operation: op.Name}
		s.counts[op.Name] = c
	}
	count(c)
}

// refuses counts a command for what it would have been refused with; nil is a replay. It reports false for an error that
// is one in shadow mode as well.
func (s *Shadow) refuses(op *Operation, err error) bool {
	count := (*int64)(nil)
	s.count(op, func(c *ShadowCount) {
		switch {
		case err == nil:
			count = &c.Duplicates
		case errors.Is(err, ErrKeyReused):
			count = &c.Reused
		case errors.Is(err, ErrInFlight):
			count = &c.InFlight
		case errors.Is(err, ErrExpired), errors.Is(err, ErrTokenExpired):
			count = &c.Expired
		case errors.Is(err, ErrNotIssued):
			count = &c.Unknown
		case errors.Is(err, ErrKey):
			count = &c.NoKey
		case errors.Is(err, ErrMeaning):
			count = &c.NoMeaning
		default:
			return
		}
		*count++
	})
	return count != nil
}

// Shadow is Options.Shadow, for a door: nil where the engine refuses.
func (e *Engine[Tx]) Shadow() *Shadow { return e.options.Shadow }

// shadow is Do in shadow mode.
func (e *Engine[Tx]) shadow(ctx context.Context, c Command, work Work[Tx]) (Result, error) {
	claim := func(call *call) (Attempt[Tx], *Record, error) { return e.claim(ctx, call, 0) }
	call, attempt, err := e.shadowClaim(ctx, c, claim)
	if err != nil {
		return Result{}, err
	}
	outcome, err := e.run(ctx, call, attempt, work)
	if err != nil {
		return Result{}, err
	}
	record, err := e.save(ctx, call, attempt, outcome)
	if err != nil {
		return Result{}, err
	}
	return Result{Outcome: record.Outcome, ID: record.ID.Public()}, nil
}

// shadowClaim claims c, or counts why it cannot be claimed and claims a stand-in for it.
func (e *Engine[Tx]) shadowClaim(ctx context.Context, c Command, claim func(*call) (Attempt[Tx], *Record, error)) (*call, Attempt[Tx], error) {
	if err := c.Operation.Validate(); err != nil {
		return nil, nil, err
	}
	e.options.Shadow.count(c.Operation, func(count *ShadowCount) { count.Commands++ })
	call, attempt, err := e.shadowFirst(ctx, c, claim)
	if attempt != nil {
		return call, attempt, nil
	}
	if !e.options.Shadow.refuses(c.Operation, err) {
		return nil, nil, err
	}
	c.Key, c.Meaning = rand.Text(), nil
	operation := *c.Operation
	operation.Submit = 0 // the key is no token
	c.Operation = &operation
	stand := newCall(c)
	stand.want.Life, stand.want.Keep = shadowLife, 0
	if call != nil {
		stand.subject, stand.want.Fingerprint = call.subject, call.want.Fingerprint
	}
	_, _ = rand.Read(stand.want.Attempt[:]) // never fails (crypto/rand)
	attempt, record, err := claim(stand)
	if err == nil && record != nil {
		err = ErrTaken // not by a random key
	}
	if err != nil {
		return nil, nil, stand.wrap(err)
	}
	return stand, attempt, nil
}

// shadowFirst claims c as it would be claimed without a shadow: without an attempt, the error is what c would have been
// answered, nil for a replay.
func (e *Engine[Tx]) shadowFirst(ctx context.Context, c Command, claim func(*call) (Attempt[Tx], *Record, error)) (*call, Attempt[Tx], error) {
	call, err := e.identify(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	if call.record != nil {
		_, err := e.replay(ctx, call, call.record)
		return call, nil, err
	}
	attempt, record, err := claim(call)
	switch {
	case err != nil:
		return call, nil, call.wrap(err)
	case record != nil:
		_, err := e.replay(ctx, call, record)
		return call, nil, err
	}
	if err := e.late(ctx, call, attempt); err != nil {
		return call, nil, err
	}
	return call, attempt, nil
}
