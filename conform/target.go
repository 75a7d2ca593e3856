package conform

import (
	"context"
	"net/http"
	"time"
)

// TimeoutDefault is the default of Target.Timeout.
const TimeoutDefault = 30 * time.Second

// Target is a service under test. URL and the functions are required.
type Target struct {
	// URL is where the service is, without a slash at its end.
	URL string
	// Client sends the requests. Defaults to http.DefaultClient.
	Client *http.Client
	// Problems are the statuses of those problems that the service answers in its own way, by code. Defaults to those of
	// draft-ietf-httpapi-idempotency-key-header-07.
	Problems map[string]int
	// Timeout bounds one case. Defaults to 30 s.
	Timeout time.Duration

	// Effects counts the effects under a reference that stand.
	Effects func(ctx context.Context, reference string) (int, error)
	// Held waits until the handler holds an order of the reference.
	Held func(ctx context.Context, reference string) error
	// Noticed waits until the handler has noticed that its caller hung up.
	Noticed func(ctx context.Context, reference string) error
	// Release lets the handlers of the reference go on; it is called again at the end of a case.
	Release func(ctx context.Context, reference string) error
}

// Target is a service at url whose handlers play on s and whose effects are there.
func (s *Stage) Target(url string) Target {
	return Target{URL: url, Effects: s.Effects, Held: s.Held, Noticed: s.Noticed, Release: s.Release}
}

func (t Target) client() *http.Client {
	if t.Client == nil {
		return http.DefaultClient
	}
	return t.Client
}

func (t Target) timeout() time.Duration {
	if t.Timeout == 0 {
		return TimeoutDefault
	}
	return t.Timeout
}

// status is the one of the problem with the code; 0 if there is no such problem.
func (t Target) status(code string) int {
	if status, ok := t.Problems[code]; ok {
		return status
	}
	return problems[code]
}
