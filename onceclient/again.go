package onceclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// problemBytesMax is how much of a 409 is read to find its code.
const problemBytesMax = 64 << 10

// again tells whether an answer invites another attempt, as an error that backoff.Retry waits by.
func (o *Options) again(response *http.Response) (error, bool) {
	switch response.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	case http.StatusConflict:
		if !slices.Contains(o.InFlight, codeOf(response)) {
			return nil, false
		}
	default:
		return nil, false
	}
	if wait, ok := retryAfter(response.Header, time.Now()); ok {
		return &backoff.RetryAfterError{Duration: wait + rand.N(wait/4+o.FirstDelay)}, true
	}
	return fmt.Errorf("onceclient: answered %s", response.Status), true
}

// codeOf is the member "code" of a problem (RFC 9457). The body can still be read afterwards.
func codeOf(response *http.Response) string {
	head, _ := io.ReadAll(io.LimitReader(response.Body, problemBytesMax)) // what fails here fails the caller as well
	response.Body = &rest{io.MultiReader(bytes.NewReader(head), response.Body), response.Body}
	var problem struct{ Code string }
	_ = json.Unmarshal(head, &problem)
	return problem.Code
}

// rest is a body whose beginning was read.
type rest struct {
	io.Reader
	io.Closer
}

// retryAfter reads the field (RFC 9110 section 10.2.3): seconds, or a date, which counts from the answer's own Date, so
// that it does not matter whether the clocks agree.
func retryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if server, err := http.ParseTime(header.Get("Date")); err == nil {
		now = server
	}
	return max(0, date.Sub(now)), true
}
