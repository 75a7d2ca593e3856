package redisfront

import (
	"fmt"
	"time"
)

// Defaults of Options.
const (
	ClaimTimeoutDefault   = 50 * time.Millisecond
	LeaveTimeoutDefault   = 100 * time.Millisecond
	HoldLifeDefault       = 30 * time.Second
	HolderBelievedDefault = time.Second
	RecordLifeMaxDefault  = 24 * time.Hour
	RecordBytesMaxDefault = 1 << 20
	FailuresMaxDefault    = 3
	ProbeEveryDefault     = time.Second
)

// ProbeEveryMax bounds Options.ProbeEvery.
const ProbeEveryMax = 5 * time.Second

// Options of a Front. The zero value works.
type Options struct {
	// ClaimTimeout bounds what a request waits for Redis before its attempt. Defaults to 50 ms.
	ClaimTimeout time.Duration
	// LeaveTimeout bounds what an answer waits for Redis after the commit. Defaults to 100 ms.
	LeaveTimeout time.Duration
	// HoldLife is how long a lock lives that nobody deletes. A work may take longer; then the store alone tells
	// duplicates. Defaults to 30 s.
	HoldLife time.Duration
	// HolderBelieved is for how long after the lock was taken a duplicate of an operation that does not wait is refused
	// by it. Then the store is asked: the holder may have died, and its record may stand. Defaults to 1 s.
	HolderBelieved time.Duration
	// RecordLifeMax bounds how long a record is kept; one whose own life ends earlier goes earlier. A record that is
	// erased from the store is answered here until then. Defaults to 24 h.
	RecordLifeMax time.Duration
	// RecordBytesMax bounds a record that is kept, in bytes; a larger one is left to the store. Defaults to 1 MiB.
	RecordBytesMax int
	// FailuresMax is after how many failures in a row Redis is left alone. Defaults to 3.
	FailuresMax int
	// ProbeEvery is how long it is left alone before the next try. At most 5 s. Defaults to 1 s.
	ProbeEvery time.Duration
	// Report is told why Redis is left alone, and nil when it is used again. It must not block. Defaults to none.
	Report func(error)
}

func (o Options) withDefaults() Options {
	o.ClaimTimeout = orDefault(o.ClaimTimeout, ClaimTimeoutDefault)
	o.LeaveTimeout = orDefault(o.LeaveTimeout, LeaveTimeoutDefault)
	o.HoldLife = orDefault(o.HoldLife, HoldLifeDefault)
	o.HolderBelieved = orDefault(o.HolderBelieved, HolderBelievedDefault)
	o.RecordLifeMax = orDefault(o.RecordLifeMax, RecordLifeMaxDefault)
	o.RecordBytesMax = orDefault(o.RecordBytesMax, RecordBytesMaxDefault)
	o.FailuresMax = orDefault(o.FailuresMax, FailuresMaxDefault)
	o.ProbeEvery = orDefault(o.ProbeEvery, ProbeEveryDefault)
	if o.Report == nil {
		o.Report = func(error) {}
	}
	return o
}

func (o Options) validate() error {
	switch {
	case o.ClaimTimeout < 0 || o.LeaveTimeout < 0:
		return fmt.Errorf("redisfront: Options: the time-outs must not be negative (claim %v, leave %v)", o.ClaimTimeout, o.LeaveTimeout)
	case o.HoldLife < time.Millisecond || o.RecordLifeMax < time.Millisecond:
		return fmt.Errorf("redisfront: Options: the lives must be a millisecond or more (hold %v, record %v)", o.HoldLife, o.RecordLifeMax)
	case o.HolderBelieved < 0:
		return fmt.Errorf("redisfront: Options: HolderBelieved %v must not be negative", o.HolderBelieved)
	case o.RecordBytesMax < 0 || o.FailuresMax < 0:
		return fmt.Errorf("redisfront: Options: the bounds must not be negative (record %d bytes, failures %d)", o.RecordBytesMax, o.FailuresMax)
	case o.ProbeEvery < 0 || o.ProbeEvery > ProbeEveryMax:
		return fmt.Errorf("redisfront: Options: ProbeEvery %v must be between 0 and %v", o.ProbeEvery, ProbeEveryMax)
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
