package onceward

import (
	"fmt"
	"time"
)

// Defaults of Options.
const (
	WorkTimeoutDefault     = 30 * time.Second
	SaveTimeoutDefault     = 10 * time.Second
	ResolveTimeoutDefault  = 10 * time.Second
	MemoryBytesMaxDefault  = 64 << 20
	FollowersMaxDefault    = 1000
	OutcomeBytesMaxDefault = 16 << 20
)

// Options of an Engine. The zero value works.
type Options struct {
	// WorkTimeout bounds a work: its context ends then. Defaults to 30 s.
	WorkTimeout time.Duration
	// SaveTimeout bounds saving and committing, and rolling back, which no caller can cancel. Defaults to 10 s.
	SaveTimeout time.Duration
	// ResolveTimeout bounds the resolution of an unknown commit. Defaults to 10 s.
	ResolveTimeout time.Duration
	// MemoryBytesMax bounds the outcomes kept in process memory, in bytes. Below 0 none are kept. Defaults to 64 MiB.
	MemoryBytesMax int
	// FollowersMax bounds the duplicates of one command that wait in this process; one more is told ErrInFlight.
	// Defaults to 1000.
	FollowersMax int
	// Front is asked before the store by one caller per process and command. Defaults to none.
	Front Front
	// Shadow has the engine refuse and replay nothing, and count what it would have; the front is not asked. Defaults to nil:
	// it refuses and replays.
	Shadow *Shadow
	// OutcomeBytesMax bounds one outcome; a larger one is rolled back with ErrOutcomeTooLarge. Defaults to 16 MiB.
	OutcomeBytesMax int
	// FailUntouched makes Do answer ErrUntouched where the work wrote nothing through its transaction, although the
	// record stands: set it in tests. See WroteNothing for a work that means it. Defaults to false: it is reported to the observer.
	FailUntouched bool
	// Observer is told of every step. Defaults to none.
	Observer Observer
}

func (o Options) withDefaults() Options {
	o.WorkTimeout = orDefault(o.WorkTimeout, WorkTimeoutDefault)
	o.SaveTimeout = orDefault(o.SaveTimeout, SaveTimeoutDefault)
	o.ResolveTimeout = orDefault(o.ResolveTimeout, ResolveTimeoutDefault)
	o.MemoryBytesMax = orDefault(o.MemoryBytesMax, MemoryBytesMaxDefault)
	o.FollowersMax = orDefault(o.FollowersMax, FollowersMaxDefault)
	o.OutcomeBytesMax = orDefault(o.OutcomeBytesMax, OutcomeBytesMaxDefault)
	return o
}

func (o Options) validate() error {
	if o.WorkTimeout < 0 || o.SaveTimeout < 0 || o.ResolveTimeout < 0 {
		return fmt.Errorf("onceward: Options: the time-outs must not be negative (work %v, save %v, resolve %v)",
			o.WorkTimeout, o.SaveTimeout, o.ResolveTimeout)
	}
	if o.FollowersMax < 0 || o.OutcomeBytesMax < 0 {
		return fmt.Errorf("onceward: Options: the bounds must not be negative (followers %d, outcome %d bytes)",
			o.FollowersMax, o.OutcomeBytesMax)
	}
	return nil
}

func orDefault[T comparable](value, other T) T {
	var zero T
	if value == zero {
		return other
	}
	return value
}
