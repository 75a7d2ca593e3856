package onceclient

import (
	"fmt"
	"net/http"
	"time"
)

// Defaults of Options.
const (
	WithinDefault         = 30 * time.Second
	AttemptTimeoutDefault = 10 * time.Second
	AttemptsMaxDefault    = 6
	FirstDelayDefault     = 100 * time.Millisecond
	DelayMaxDefault       = 5 * time.Second
	BodyBytesMaxDefault   = 1 << 20
	RetryShareDefault     = 0.2
)

// Options of a Transport. The zero value works.
type Options struct {
	// Base sends the attempts. It must not repeat a request by itself. Defaults to http.DefaultTransport.
	Base http.RoundTripper
	// Within bounds all attempts together, with the waits between them and the reading of the answer; a shorter context
	// stays shorter. Defaults to 30 s.
	Within time.Duration
	// AttemptTimeout bounds one attempt until its answer's header is there. Defaults to 10 s.
	AttemptTimeout time.Duration
	// AttemptsMax bounds the attempts. Defaults to 6.
	AttemptsMax int
	// FirstDelay is the wait before the second attempt, which doubles from one to the next. A wait is a random time of up to
	// twice that long. Defaults to 100 ms.
	FirstDelay time.Duration
	// DelayMax bounds the wait, before it is made random. A longer Retry-After is waited for, if Within allows it. Defaults
	// to 5 s.
	DelayMax time.Duration
	// BodyBytesMax bounds a request's body, which is held for the further attempts. Defaults to 1 MiB.
	BodyBytesMax int
	// RetryShare is the budget: how many retries each request adds to it. A retry takes 1 from it; it begins with 10, which is also
	// what it holds at most. It keeps clients from burying a service that is down. Defaults to 0.2.
	RetryShare float64
	// InFlight are the codes (the member "code" of the problem) with which a 409 says that the first attempt still runs.
	// Defaults to "in_flight" and "40901".
	InFlight []string
}

func (o Options) withDefaults() Options {
	if o.Base == nil {
		o.Base = http.DefaultTransport
	}
	o.Within = orDefault(o.Within, WithinDefault)
	o.AttemptTimeout = orDefault(o.AttemptTimeout, AttemptTimeoutDefault)
	o.AttemptsMax = orDefault(o.AttemptsMax, AttemptsMaxDefault)
	o.FirstDelay = orDefault(o.FirstDelay, FirstDelayDefault)
	o.DelayMax = orDefault(o.DelayMax, DelayMaxDefault)
	o.BodyBytesMax = orDefault(o.BodyBytesMax, BodyBytesMaxDefault)
	o.RetryShare = orDefault(o.RetryShare, RetryShareDefault)
	if o.InFlight == nil {
		o.InFlight = []string{"in_flight", "40901"}
	}
	return o
}

func (o Options) validate() error {
	if o.Within < 0 || o.AttemptTimeout < 0 || o.FirstDelay < 0 || o.DelayMax < 0 {
		return fmt.Errorf("onceclient: Options: the times must not be negative (within %v, attempt %v, first delay %v, delay %v)",
			o.Within, o.AttemptTimeout, o.FirstDelay, o.DelayMax)
	}
	if o.AttemptsMax < 0 || o.BodyBytesMax < 0 || o.RetryShare < 0 {
		return fmt.Errorf("onceclient: Options: the bounds must not be negative (attempts %d, body %d bytes, retry share %v)",
			o.AttemptsMax, o.BodyBytesMax, o.RetryShare)
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
