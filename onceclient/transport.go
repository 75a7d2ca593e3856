package onceclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// ErrUnknown: the request was sent and nobody knows what became of it. Send the same intent again with the same key.
var ErrUnknown = errors.New("onceclient: the outcome is not known: send the request again with the same key")

var errLate = errors.New("onceclient: the answer did not begin within Options.AttemptTimeout")

// Error is the end of a request without an answer. It matches ErrUnknown where anything may have reached the service; where
// no attempt found a connection it does not, and nothing was carried out.
type Error struct {
	Attempts int
	Sent     bool
	Err      error // the last attempt's
}

// Error says whether the outcome is known.
func (e *Error) Error() string {
	what := "nothing was sent"
	if e.Sent {
		what = ErrUnknown.Error()
	}
	return fmt.Sprintf("%s (after %d attempts: %v)", what, e.Attempts, e.Err)
}

// Unwrap gives the cause, and ErrUnknown where it is.
func (e *Error) Unwrap() []error {
	if e.Sent {
		return []error{ErrUnknown, e.Err}
	}
	return []error{e.Err}
}

// Transport is an http.RoundTripper. It is safe for concurrent use.
type Transport struct {
	options Options

	mu     sync.Mutex
	budget float64
}

// budgetMax is what a budget holds at most, in retries.
const budgetMax = 10

// New makes a transport.
func New(options Options) (*Transport, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	return &Transport{options: options.withDefaults(), budget: budgetMax}, nil
}

// RoundTrip implements http.RoundTripper: it sends r until there is a final answer. A request that changes nothing is sent
// as it is, once. The last answer is returned where the attempts are used up.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return t.options.Base.RoundTrip(r)
	}
	key, err := keyFor(r)
	body, readErr := readBody(r, t.options.BodyBytesMax)
	if err := errors.Join(err, readErr); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), t.options.Within)
	c := &call{transport: t, request: r, key: key, body: body, cancel: cancel}
	t.earn()
	response, err := backoff.Retry(ctx, func() (*http.Response, error) { return c.attempt(ctx) },
		backoff.WithBackOff(&backoff.ExponentialBackOff{
			InitialInterval: t.options.FirstDelay, MaxInterval: t.options.DelayMax, Multiplier: 2, RandomizationFactor: 1,
		}),
		backoff.WithMaxTries(uint(t.options.AttemptsMax)), backoff.WithMaxElapsedTime(t.options.Within))
	return c.end(ctx, response, err)
}

// readBody takes the body, which every attempt sends anew.
func readBody(r *http.Request, bytesMax int) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(bytesMax)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("onceclient: read the request's body: %w", err)
	case len(body) > bytesMax:
		return nil, fmt.Errorf("onceclient: the request's body exceeds Options.BodyBytesMax of %d bytes", bytesMax)
	}
	return body, nil
}

// earn adds a request's share to the budget.
func (t *Transport) earn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.budget = min(budgetMax, t.budget+t.options.RetryShare)
}

// spend takes a retry from the budget, if there is one.
func (t *Transport) spend() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.budget < 1 {
		return false
	}
	t.budget--
	return true
}

// call is one request on its way.
type call struct {
	transport *Transport
	request   *http.Request
	key       string
	body      []byte
	cancel    context.CancelFunc // of all attempts

	attempts int
	sent     atomic.Bool // an attempt had a connection
	latest   *http.Response
}

// attempt sends the request once. Its error tells backoff.Retry to go on, or how long to wait first.
func (c *call) attempt(ctx context.Context) (*http.Response, error) {
	c.attempts++
	c.drop()
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(c.transport.options.AttemptTimeout, cancel)
	response, err := c.transport.options.Base.RoundTrip(c.copy(ctx))
	if late := !timer.Stop(); late && err == nil {
		_ = response.Body.Close()
		err = errLate
	} else if late {
		err = fmt.Errorf("%w: %w", errLate, err)
	}
	if err != nil {
		cancel()
		return nil, c.again(err)
	}
	response.Body = &ended{response.Body, cancel}
	c.latest = response
	if wait, again := c.transport.options.again(response); again {
		return response, c.again(wait)
	}
	return response, nil
}

// drop lets go of an answer that is not the last one. What is short is read to its end, so that its connection serves on.
func (c *call) drop() {
	if c.latest == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.latest.Body, problemBytesMax)
	_ = c.latest.Body.Close()
	c.latest = nil
}

// again is why there is to be another attempt, if the budget has one.
func (c *call) again(why error) error {
	if !c.transport.spend() {
		return backoff.Permanent(why)
	}
	return why
}

// copy is the request for one attempt. Its body cannot be rewound: net/http would send the request again by itself where
// a connection breaks (it does so for any request with this field), and nobody would count that.
func (c *call) copy(ctx context.Context) *http.Request {
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { c.sent.Store(true) }}
	r := c.request.Clone(httptrace.WithClientTrace(ctx, trace))
	if r.Header.Get(HeaderKey) == "" {
		r.Header.Set(HeaderKey, `"`+c.key+`"`)
	}
	r.Body, r.GetBody, r.ContentLength = io.NopCloser(bytes.NewReader(c.body)), nil, int64(len(c.body))
	if len(c.body) == 0 {
		r.ContentLength = -1 // a request known to be without a body could be sent again
	}
	return r
}

// end makes of the last attempt what the caller gets.
func (c *call) end(ctx context.Context, response *http.Response, err error) (*http.Response, error) {
	if response != nil && ctx.Err() == nil {
		response.Body = &ended{response.Body, c.cancel}
		response.Request = c.request
		return response, nil
	}
	c.drop()
	c.cancel()
	return nil, &Error{Attempts: c.attempts, Sent: c.sent.Load(), Err: err}
}

// ended is a body that frees what its attempt holds.
type ended struct {
	io.ReadCloser
	free context.CancelFunc
}

// Close implements io.Closer.
func (e *ended) Close() error {
	defer e.free()
	return e.ReadCloser.Close()
}
