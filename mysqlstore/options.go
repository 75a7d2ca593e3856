package mysqlstore

import (
	"fmt"
	"time"
)

// Defaults of Options.
const (
	IdleTimeoutDefault  = 60 * time.Second
	ClaimTimeoutDefault = 10 * time.Second
)

const (
	// leaveTimeout bounds a rollback that no caller waits for the end of: what has not come back by then is cut off.
	leaveTimeout = 5 * time.Second
	// A waiting caller asks again after a pause that grows from the one to the other, give or take a half.
	pauseMin = 2 * time.Millisecond
	pauseMax = 25 * time.Millisecond
	// raceMax bounds how often a claim begins anew because another changed the record, or a cluster's node aborted it.
	raceMax = 20
)

// Options of a Store. The zero value works.
type Options struct {
	// IdleTimeout is how long an attempt's connection may be silent before the server ends it, and with it the claim: a
	// process that hangs or is cut off must not keep a key. Longer than any work is silent, in whole seconds. Defaults to
	// 60 s.
	IdleTimeout time.Duration
	// ClaimTimeout bounds the wait for a connection of the pool together with the first answers on it, and likewise a
	// whole Find and a whole Sweep; a shorter context stays shorter. Defaults to 10 s.
	ClaimTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.IdleTimeout == 0 {
		o.IdleTimeout = IdleTimeoutDefault
	}
	if o.ClaimTimeout == 0 {
		o.ClaimTimeout = ClaimTimeoutDefault
	}
	return o
}

func (o Options) validate() error {
	if o.IdleTimeout < 0 || o.IdleTimeout%time.Second != 0 || o.ClaimTimeout < 0 {
		return fmt.Errorf("mysqlstore: Options: the idle time-out must be in whole seconds and neither time-out negative (idle %v, claim %v)",
			o.IdleTimeout, o.ClaimTimeout)
	}
	return nil
}
