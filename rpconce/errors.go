package rpconce

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// Code is a status code. gRPC and Connect give the same codes the same numbers.
type Code uint32

// The codes that this package answers with.
const (
	Canceled           Code = 1
	InvalidArgument    Code = 3
	DeadlineExceeded   Code = 4
	NotFound           Code = 5
	PermissionDenied   Code = 7
	FailedPrecondition Code = 9
	Internal           Code = 13
	Unavailable        Code = 14
	Unauthenticated    Code = 16
)

// ErrorDomain is the domain of the ErrorInfo that an answer to an Error has.
const ErrorDomain = "onceward.dev"

// Error is why a call was not carried out, or not for this caller. Its text may be shown.
type Error struct {
	Code Code
	// Reason is what a program branches on, the reason of a google.rpc.ErrorInfo: "KEY_REUSED", "IN_FLIGHT" and so on.
	Reason string
	// Message says what happened and what to do.
	Message string
	// RetryAfter is the delay of a google.rpc.RetryInfo; 0 where the same call is not to be sent again.
	RetryAfter time.Duration
	// ID is the result's public id, where there is a result.
	ID string
	// Err is the cause: an error of Scope or of Authorize, or the engine's. It is for the log.
	Err error
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// kind is one of the package's errors.
type kind struct {
	code    Code
	reason  string
	message string
	retry   bool
}

var (
	unauthenticated = kind{
		code: Unauthenticated, reason: "UNAUTHENTICATED",
		message: "The caller is not known. Send valid credentials; the same idempotency-key may be used.",
	}
	forbidden = kind{
		code: PermissionDenied, reason: "FORBIDDEN",
		message: "The caller may not do this. The same idempotency-key may be used afterwards.",
	}
	internal = kind{
		code: Internal, reason: "INTERNAL",
		message: "The service failed. The call may be sent again with the same idempotency-key: it is not carried out twice.",
	}
	endedByWork = kind{
		code: Internal, reason: "INTERNAL",
		message: "The service failed while it changed something, and what it changed may stand. Look for the result before the call is sent again.",
	}
)

// table is the one table of the engine's errors. What a caller may send again at once or later, as it is, is unavailable; a
// key that cannot be used until something else is done is a failed precondition (google.rpc.Code, the test in its
// comments). What is not here is internal.
var table = []struct {
	err  error
	kind kind
}{
	{onceward.ErrTxEnded, endedByWork}, // above all others: it must invite no retry
	{onceward.ErrKeyReused, kind{
		code: FailedPrecondition, reason: "KEY_REUSED",
		message: "The idempotency-key stands for a call with another meaning. Send a new key for a new action.",
	}},
	{onceward.ErrInFlight, kind{
		code: Unavailable, reason: "IN_FLIGHT", retry: true,
		message: "The first attempt is still running. Send the call again later with the same idempotency-key to get its answer.",
	}},
	{onceward.ErrExpired, kind{
		code: FailedPrecondition, reason: "EXPIRED",
		message: "The call was carried out once and its result is no longer kept. Look the result up, or send a new key for a new action.",
	}},
	{onceward.ErrNotIssued, kind{
		code: NotFound, reason: "TOKEN_UNKNOWN",
		message: "No such token was issued to this caller for this. Have one issued, and send it as it is.",
	}},
	{onceward.ErrTokenExpired, kind{
		code: FailedPrecondition, reason: "TOKEN_EXPIRED",
		message: "The token was not submitted in its time. Nothing was done with it and nothing will be: have a new one issued.",
	}},
	{onceward.ErrCommitUnresolved, kind{
		code: Unavailable, reason: "UNRESOLVED", retry: true,
		message: "Whether the call was carried out could not be learned in time. Send it again with the same idempotency-key; it will not be carried out twice.",
	}},
	{onceward.ErrNotCommitted, kind{
		code: Unavailable, reason: "NOT_COMMITTED", retry: true,
		message: "Nothing was changed. Send the call again with the same idempotency-key.",
	}},
	{onceward.ErrUnavailable, kind{
		code: Unavailable, reason: "UNAVAILABLE", retry: true,
		message: "The store cannot be reached. Send the call again with the same idempotency-key.",
	}},
	{onceward.ErrOutcomeTooLarge, kind{
		code: Internal, reason: "ANSWER_TOO_LARGE", message: "The service's answer exceeds its own limit; nothing was changed.",
	}},
	{onceward.ErrScope, unauthenticated},
	{onceward.ErrKey, kind{
		code: InvalidArgument, reason: "KEY_MALFORMED", message: "The idempotency-key cannot be stored. Send visible ASCII characters.",
	}},
	{context.DeadlineExceeded, kind{
		code: DeadlineExceeded, reason: "TIMED_OUT",
		message: "The call was stopped. Send it again with the same idempotency-key.",
	}},
	{context.Canceled, kind{
		code: Canceled, reason: "CANCELLED",
		message: "The call was stopped. Send it again with the same idempotency-key.",
	}},
}

// translate makes an *Error of an error of the engine; a work's own error stays what it is, unless the work ended its
// transaction itself.
func (d *Door[Tx]) translate(err error) error {
	engine := (*onceward.Error)(nil)
	if !errors.As(err, &engine) && !errors.Is(err, onceward.ErrTxEnded) && !errors.Is(err, onceward.ErrScope) && !errors.Is(err, onceward.ErrKey) {
		return err
	}
	id := ""
	if engine != nil {
		id = engine.ID
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return d.fault(row.kind, id, err)
		}
	}
	return d.fault(internal, id, err)
}

func (d *Door[Tx]) fault(k kind, id string, err error) *Error {
	e := &Error{Code: k.code, Reason: k.reason, Message: k.message, ID: id, Err: err}
	if k.retry {
		e.RetryAfter = d.options.RetryAfter
	}
	return e
}

// keyFault is httponce's word on a key.
func keyFault(err error) kind {
	k := kind{code: InvalidArgument, reason: "KEY_MALFORMED", message: "The idempotency-key is malformed."}
	answer := (*httponce.Answer)(nil)
	if !errors.As(err, &answer) {
		return k
	}
	if p, ok := answer.Body.(httponce.Problem); ok {
		k.reason, k.message = strings.ToUpper(p.Code), p.Title+". "+p.Detail
	}
	return k
}
