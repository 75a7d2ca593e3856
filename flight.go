package onceward

import (
	"context"
	"sync"
	"time"
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
	followers int
	done      chan struct{} // closed when the fields below are set
	record    *Record
	err       error
	gone      bool // the leader's own context ended: its error is its own
}

// share runs lead, for which at most one caller per command is let through, or waits for the one that is there.
func (f *flight) share(ctx context.Context, call *call, lead func(wait time.Duration) (*Record, error)) (*Record, error) {
	deadline := time.Now().Add(call.operation.Wait)
	for {
		l, leads, err := f.enter(call)
		switch {
		case err != nil:
			return nil, call.wrap(err)
		case leads:
			return f.lead(ctx, l, func() (*Record, error) { return lead(max(0, time.Until(deadline))) })
		}
		if err := l.wait(ctx, time.Until(deadline)); err != nil {
			return nil, call.wrap(err)
		}
		if l.err == nil {
			return l.record, nil
		}
		// A leader's failure is its followers' too, or a thousand duplicates would fail one after the other. Not so
		// where it says nothing about this call: the leader hung up, or asked for something else under this key.
		if same, err := l.call.want.Fingerprint.Same(call.meaning); err == nil && same && !l.gone {
			return nil, l.err
		}
	}
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
		l = &leader{call: call, done: make(chan struct{})}
		f.leaders[call.want.ID] = l
		return l, true, nil
	case call.operation.Wait == 0:
		return nil, false, l.refusal(call)
	case l.followers >= f.followersMax:
		return nil, false, ErrInFlight
	}
	l.followers++
	return l, false, nil
}

// refusal is what a caller that does not wait is told early: the running attempt may still roll back, but this caller
// would have to come again in any case.
func (l *leader) refusal(call *call) error {
	if same, err := l.call.want.Fingerprint.Same(call.meaning); err == nil && !same {
		return ErrKeyReused
	}
	return ErrInFlight
}

func (f *flight) lead(ctx context.Context, l *leader, attempt func() (*Record, error)) (*Record, error) {
	l.err = ErrAborted // what followers learn if attempt does not return
	defer func() {
		l.gone = ctx.Err() != nil
		f.mu.Lock()
		delete(f.leaders, l.call.want.ID)
		f.mu.Unlock()
		close(l.done)
	}()
	l.record, l.err = attempt()
	return l.record, l.err
}

func (l *leader) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
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

func (f *flight) running(id ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leaders[id] != nil
}
