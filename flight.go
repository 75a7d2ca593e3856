package onceward

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/onceward/onceward/fingerprint"
)

// flight lets one caller per command and process go to the store, the leader. The others follow: they hold no
// connection, wait as long as their operation allows, and get what the leader got.
type flight struct {
	followersMax int

	mu      sync.Mutex
	leaders map[ID]*leader // an entry lives as long as its attempt
}

type leader struct {
	call      *call
	followers int           // that wait now
	runs      chan struct{} // closed when the claim is won and the work begins
	done      chan struct{} // closed when the fields below are set
	record    *Record
	err       error
	gone      bool // the leader's own context ended: its error is its own
}

// share runs lead, for which at most one caller per command is let through, or waits for the one that is there. Lead
// calls runs when its claim is won.
func (f *flight) share(ctx context.Context, call *call, lead func(wait time.Duration, runs func()) (*Record, error)) (*Record, error) {
	deadline := time.Now().Add(call.operation.Wait)
	for {
		l, leads, err := f.enter(call)
		switch {
		case err != nil:
			return nil, call.refuse(err)
		case leads:
			return f.lead(ctx, l, func(runs func()) (*Record, error) { return lead(max(0, time.Until(deadline)), runs) })
		}
		if err := f.follow(ctx, l, call, deadline); err != nil {
			return nil, call.refuse(err)
		}
		if l.err == nil {
			return l.record, nil
		}
		if l.failsFor(call, deadline) {
			return nil, l.err
		}
	}
}

// failsFor reports whether the leader's failure is call's too. It is as a rule, or a thousand duplicates would fail one
// after the other; not so where it says nothing about call: the leader hung up, its time was up and call's is not, or it
// asked for something else under this key.
func (l *leader) failsFor(call *call, deadline time.Time) bool {
	if l.gone || errors.Is(l.err, ErrInFlight) && time.Now().Before(deadline) {
		return false
	}
	same, err := l.call.want.Fingerprint.Same(call.meaning)
	return err == nil && same
}

// enter joins the command's leader, or makes the caller the leader.
func (f *flight) enter(call *call) (*leader, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.leaders[call.want.ID]
	switch {
	case l == nil:
		if f.leaders == nil {
			f.leaders = map[ID]*leader{}
		}
		l = &leader{call: call, runs: make(chan struct{}), done: make(chan struct{})}
		f.leaders[call.want.ID] = l
		return l, true, nil
	case l.followers >= f.followersMax:
		return nil, false, ErrInFlight
	}
	l.followers++
	return l, false, nil
}

// refusal is what a caller that does not wait is told early of an attempt that runs: it may still roll back, but this
// caller would have to come again in any case.
func refusal(running fingerprint.Fingerprint, call *call) error {
	if same, err := running.Same(call.meaning); err == nil && !same {
		return ErrKeyReused
	}
	return ErrInFlight
}

func (f *flight) lead(ctx context.Context, l *leader, attempt func(runs func()) (*Record, error)) (*Record, error) {
	l.err = l.call.wrap(ErrAborted) // what followers learn if attempt does not return
	defer func() {
		l.gone = ctx.Err() != nil
		f.mu.Lock()
		delete(f.leaders, l.call.want.ID)
		f.mu.Unlock()
		close(l.done)
	}()
	l.record, l.err = attempt(func() { close(l.runs) })
	return l.record, l.err
}

// follow waits for the leader's end until deadline. A call whose operation does not wait is refused once the leader's
// work runs; before that the leader may be reading a record that stands, and then that is the answer.
func (f *flight) follow(ctx context.Context, l *leader, call *call, deadline time.Time) error {
	defer func() {
		f.mu.Lock()
		l.followers--
		f.mu.Unlock()
	}()
	if call.operation.Wait == 0 {
		select {
		case <-l.done:
			return nil
		case <-l.runs:
			return refusal(l.call.want.Fingerprint, call)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-l.done:
		return nil
	case <-timer.C:
		return ErrInFlight
	case <-ctx.Done():
		return ctx.Err()
	}
}

// running reports whether an attempt of the command runs in this process.
func (f *flight) running(id ID) bool {
	f.mu.Lock()
	l := f.leaders[id]
	f.mu.Unlock()
	if l == nil {
		return false
	}
	select {
	case <-l.runs:
		return true
	default:
		return false
	}
}
