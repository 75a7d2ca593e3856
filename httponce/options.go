package httponce

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// Defaults of Options.
const (
	KeyBytesMaxDefault    = 255
	BodyBytesMaxDefault   = 1 << 20
	AnswerBytesMaxDefault = 8 << 20
	StoredBytesMaxDefault = 1 << 20
	RetryAfterDefault     = time.Second
)

// Options of a Door. Scope is required; otherwise the zero value works. What the functions are given may be read, not
// kept; they are called concurrently.
type Options struct {
	// Scope tells who asks, from the authenticated caller and never from what he may write himself. Its error is
	// answered with 401, or with the *Answer that it is or wraps (which may bring WWW-Authenticate). Required.
	Scope func(*http.Request) (onceward.Scope, error)
	// Authorize is asked on every request, retries included, before anything that depends on a record is answered. Its
	// error is answered with 403, or with the *Answer that it is or wraps. Defaults to nil: whoever has a scope may.
	Authorize func(*http.Request, onceward.Command) error
	// Failure maps the errors of the service's handlers to answers, one table per service; nil for one it does not know,
	// which is answered with 500. Defaults to nil: it knows none.
	Failure func(error) *Answer
	// Report is told of what was answered with 500 for want of a better answer: a handler's error that Failure does not
	// know, or a *PanicError. Its text may quote what the caller sent. Defaults to logging its Go types, its
	// onceward.Reason, the operation and the public id with slog.Default.
	Report func(*http.Request, error)

	// Statuses of the conflicts. Each zero field defaults to that of Draft07.
	Statuses Statuses
	// Strict takes only the quoted form of the key. Defaults to false: a bare key is the same key.
	Strict bool
	// Optional lets a request without the field through: it is a new action every time, recorded under a random key.
	// Defaults to false: it is refused with 400.
	Optional bool
	// KeyBytesMax bounds a key, in bytes without quotes and escapes. At most onceward.KeyBytesMax. Defaults to 255.
	KeyBytesMax int
	// BodyBytesMax bounds a request's body; a larger one is answered with 413. Defaults to 1 MiB.
	BodyBytesMax int
	// AnswerBytesMax bounds the answer that is held until the commit; writing more fails, and the work is rolled back and
	// answered with 500. Defaults to 8 MiB.
	AnswerBytesMax int
	// StoredBytesMax bounds what is recorded of an answer. Of a larger one only the status and the Location are: the first
	// caller gets all of it, a retry gets a 410 problem with the code answer_not_stored. Defaults to 1 MiB.
	StoredBytesMax int
	// RetryAfter is what a caller who should come again is told to wait; rounded up to whole seconds. Defaults to 1 s.
	RetryAfter time.Duration
	// Headers names further response fields that are recorded and replayed. Defaults to none.
	Headers []string
	// Rules say what of a request counts as its meaning; the first is the current one, the others verify the records that
	// they wrote. Defaults to the zero fingerprint.Rule.
	Rules []fingerprint.Rule

	shadow      *onceward.Shadow // of the engine
	meansHeader bool             // a rule names header fields
}

func (o Options) withDefaults() Options {
	o.Statuses = o.Statuses.withDefaults()
	o.KeyBytesMax = orDefault(o.KeyBytesMax, KeyBytesMaxDefault)
	o.BodyBytesMax = orDefault(o.BodyBytesMax, BodyBytesMaxDefault)
	o.AnswerBytesMax = orDefault(o.AnswerBytesMax, AnswerBytesMaxDefault)
	o.StoredBytesMax = orDefault(o.StoredBytesMax, StoredBytesMaxDefault)
	o.RetryAfter = orDefault(o.RetryAfter, RetryAfterDefault)
	if o.Failure == nil {
		o.Failure = func(error) *Answer { return nil }
	}
	if o.Report == nil {
		o.Report = report
	}
	o.meansHeader = slices.ContainsFunc(o.Rules, func(rule fingerprint.Rule) bool { return len(rule.Headers) > 0 })
	return o
}

func (o Options) validate() error {
	if o.Scope == nil {
		return errors.New("httponce: Options.Scope is required: it tells the authenticated caller")
	}
	if o.KeyBytesMax < 0 || o.KeyBytesMax > onceward.KeyBytesMax {
		return fmt.Errorf("httponce: Options.KeyBytesMax %d must be between 1 and %d", o.KeyBytesMax, onceward.KeyBytesMax)
	}
	if o.BodyBytesMax < 0 || o.AnswerBytesMax < 0 || o.StoredBytesMax < 0 || o.RetryAfter < 0 {
		return fmt.Errorf("httponce: the bounds of Options must not be negative (body %d, answer %d, stored %d bytes, RetryAfter %v)",
			o.BodyBytesMax, o.AnswerBytesMax, o.StoredBytesMax, o.RetryAfter)
	}
	for _, name := range o.Headers {
		if forbidden(http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("httponce: Options.Headers: %q belongs to one response and must not be replayed", name)
		}
	}
	for _, rule := range o.Rules {
		if err := rule.Validate(); err != nil {
			return fmt.Errorf("httponce: Options.Rules: %w", err)
		}
	}
	return o.Statuses.validate()
}

// forbidden tells the fields that belong to one response: to its connection, its moment, its browser or its session.
func forbidden(name string) bool {
	switch name {
	case "", "Set-Cookie", "Date", "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Content-Length", "Www-Authenticate", "Retry-After", HeaderReplayed, HeaderID:
		return true
	}
	return strings.HasPrefix(name, "Access-Control-")
}

// contentFields describe the bytes of a body and are recorded with them, whoever set them.
var contentFields = []string{
	"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Content-Location", "Content-Range",
}

// storedFields are all that is recorded of an answer's header, in the order of the record.
func (o Options) storedFields() []string {
	names := append(slices.Clone(contentFields), "Location", "Etag", "Last-Modified", "Link", "Cache-Control")
	for _, name := range o.Headers {
		if name = http.CanonicalHeaderKey(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func orDefault[T comparable](value, other T) T {
	var zero T
	if value == zero {
		return other
	}
	return value
}

// report is the default of Options.Report.
func report(r *http.Request, err error) {
	attrs := []slog.Attr{slog.String("type", typesOf(err))}
	if reason := onceward.Reason(err); reason != "" {
		attrs = append(attrs, slog.String("reason", reason))
	}
	if call, ok := r.Context().Value(callKey{}).(*Call); ok {
		attrs = append(attrs, slog.String("operation", call.Operation.Name), slog.String("id", call.ID().Public()))
	}
	if p := (*PanicError)(nil); errors.As(err, &p) {
		attrs = append(attrs, slog.String("panic", p.Error()), slog.String("stack", string(p.Stack)))
	}
	slog.Default().LogAttrs(r.Context(), slog.LevelError, "httponce: answered 500", attrs...)
}

// typesOf names the Go types of err and of what it wraps.
func typesOf(err error) string {
	var names []string
	for ; err != nil; err = errors.Unwrap(err) {
		names = append(names, fmt.Sprintf("%T", err))
	}
	return strings.Join(names, ": ")
}
