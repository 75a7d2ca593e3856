package httponce

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// ProblemBase begins the type of every problem of this package; the code with hyphens follows. The types are names and
// need not resolve (RFC 9457 section 3.1.1).
const ProblemBase = "https://onceward.dev/problems/"

// Problem is a problem detail (RFC 9457). As the Body of an Answer it is sent as application/problem+json, with Status,
// Title and ID filled in where they are empty.
type Problem struct {
	Type   string `json:"type,omitempty"`
	Title  string `json:"title,omitempty"`
	Status int    `json:"status,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Code is what a program branches on; it does not change.
	Code string `json:"code,omitempty"`
	// ID is the result's public id, where there is a result.
	ID string `json:"id,omitempty"`
}

// kind is one of the package's problems.
type kind struct {
	code   string
	status int
	title  string
	detail string
	retry  bool // with Retry-After
}

// answer is the problem as an answer; detail defaults to the kind's own.
func (k kind) answer(detail string) *Answer {
	return Refuse(k.status, Problem{
		Type:   ProblemBase + strings.ReplaceAll(k.code, "_", "-"),
		Title:  k.title,
		Detail: orDefault(detail, k.detail),
		Code:   k.code,
	})
}

// What is wrong with a request before anything is claimed for it.
var (
	keyMissing = kind{
		code: "key_missing", status: http.StatusBadRequest, title: "The Idempotency-Key is missing",
		detail: "This request changes something. Send an Idempotency-Key field: a new key for a new action, the same key for a retry.",
	}
	keyRepeated = kind{
		code: "key_repeated", status: http.StatusBadRequest, title: "More than one Idempotency-Key",
		detail: "Send exactly one Idempotency-Key field with one key.",
	}
	keyMalformed = kind{
		code: "key_malformed", status: http.StatusBadRequest, title: "The Idempotency-Key is malformed",
		detail: "Send one quoted string of visible ASCII characters as the Idempotency-Key.",
	}
	keyTooLong = kind{
		code: "key_too_long", status: http.StatusBadRequest, title: "The Idempotency-Key is too long",
		detail: "Send a shorter Idempotency-Key.",
	}
	unauthenticated = kind{
		code: "unauthenticated", status: http.StatusUnauthorized, title: "The caller is not known",
		detail: "Send valid credentials; the same Idempotency-Key may be used.",
	}
	forbiddenCaller = kind{
		code: "forbidden", status: http.StatusForbidden, title: "The caller may not do this",
		detail: "Ask for the permission; the same Idempotency-Key may be used afterwards.",
	}
	methodNotAllowed = kind{
		code: "method_not_allowed", status: http.StatusMethodNotAllowed, title: "The method is not allowed",
		detail: "This resource takes methods that change something: POST, PUT, PATCH or DELETE.",
	}
	contractMethod = kind{
		code: "method_not_allowed", status: http.StatusMethodNotAllowed, title: "The method is not allowed",
		detail: "The contract can be read with GET.",
	}
	bodyTooLarge = kind{
		code: "body_too_large", status: http.StatusRequestEntityTooLarge, title: "The body is too large",
		detail: "Send a smaller body.",
	}
	bodyIncomplete = kind{
		code: "body_incomplete", status: http.StatusBadRequest, title: "The body is incomplete",
		detail: "The body ended before its announced length. Send the request again with the same Idempotency-Key.",
	}
	bodyCoding = kind{
		code: "body_coding_unsupported", status: http.StatusUnsupportedMediaType, title: "The body's coding is not supported",
		detail: "Send JSON without a Content-Encoding.",
	}
	bodyInvalid = kind{
		code: "body_invalid", status: http.StatusBadRequest, title: "The request is not valid",
		detail: "Correct the request and send it again; the same Idempotency-Key may be used.",
	}
	notStored = kind{
		code: "answer_not_stored", status: http.StatusGone, title: "The answer was not kept",
		detail: "The request was carried out once and its answer was too large or too secret to be kept. It will not be carried out again: look the result up, by the Location if there is one.",
	}
	internal = kind{
		code: "internal", status: http.StatusInternalServerError, title: "The request failed",
		detail: "The service failed. The request may be sent again with the same Idempotency-Key: it is not carried out twice.",
	}
	endedByWork = kind{
		code: "internal", status: http.StatusInternalServerError, title: "The request failed",
		detail: "The service failed while it changed something, and what it changed may stand. Look for the result before the request is sent again.",
	}
	notCommitted = kind{
		code: "not_committed", status: http.StatusServiceUnavailable, title: "The request was not carried out",
		detail: "Nothing was changed. Send the request again with the same Idempotency-Key.", retry: true,
	}
	answerTooLarge = kind{
		code: "answer_too_large", status: http.StatusInternalServerError, title: "The answer is too large",
		detail: "The service's answer exceeds its own limit; nothing was changed.",
	}
)

// errors of the engine that have an answer of their own: the one table. What is not here is internal.
var table = []struct {
	err  error
	kind kind
}{
	{onceward.ErrExpired, kind{
		code: "expired", status: http.StatusGone, title: "The result has expired",
		detail: "The request was carried out once and its result is no longer kept. It will not be carried out again under this key: look the result up, or send a new key for a new action.",
	}},
	{onceward.ErrCommitUnresolved, kind{
		code: "unresolved", status: http.StatusServiceUnavailable, title: "The outcome is not known yet",
		detail: "Whether the request was carried out could not be learned in time. Send it again with the same Idempotency-Key; it will not be carried out twice.", retry: true,
	}},
	{onceward.ErrNotCommitted, notCommitted},
	{onceward.ErrUnavailable, kind{
		code: "unavailable", status: http.StatusServiceUnavailable, title: "The service is unavailable",
		detail: "The store cannot be reached. Send the request again with the same Idempotency-Key.", retry: true,
	}},
	{errNewer, kind{
		code: "unavailable", status: http.StatusServiceUnavailable, title: "The service is unavailable",
		detail: "The answer was recorded by a newer version of the service. Send the request again with the same Idempotency-Key.", retry: true,
	}},
	{onceward.ErrAborted, internal}, // the panic was told by the one it happened to
	{onceward.ErrScope, unauthenticated},
	{onceward.ErrKey, keyMalformed},
	{errAnswerTooLarge, answerTooLarge},
	{context.DeadlineExceeded, kind{
		code: "timed_out", status: http.StatusServiceUnavailable, title: "The request took too long",
		detail: "It was stopped. Send the request again with the same Idempotency-Key.", retry: true,
	}},
	{context.Canceled, kind{
		code: "cancelled", status: http.StatusServiceUnavailable, title: "The request was cancelled",
		detail: "It was stopped. Send the request again with the same Idempotency-Key.", retry: true,
	}},
}

// kindOf finds the problem that answers err; known is false where it is internal for want of a better one.
func (o *Options) kindOf(op *onceward.Operation, err error) (k kind, known bool) {
	switch {
	case errors.Is(err, onceward.ErrKeyReused):
		return kind{
			code: o.Statuses.ReusedCode, status: o.Statuses.Reused, title: "This was requested before with other content",
			detail: "The Idempotency-Key stands for a request with another meaning. Send a new key for a new action.",
		}, true
	case errors.Is(err, onceward.ErrInFlight):
		status := o.Statuses.InFlight
		if op.Wait > 0 {
			status = o.Statuses.InFlightAfterWait
		}
		return kind{
			code: o.Statuses.InFlightCode, status: status, title: "The first attempt is still running",
			detail: "Send the request again later with the same Idempotency-Key to get its answer.", retry: true,
		}, true
	case errors.Is(err, onceward.ErrNotIssued):
		return kind{
			code: o.Statuses.NotIssuedCode, status: http.StatusNotFound, title: "There is no such token",
			detail: "No such token was issued to this caller for this. Have one issued, and send it as it is.",
		}, true
	case errors.Is(err, onceward.ErrTokenExpired):
		return kind{
			code: o.Statuses.TokenExpiredCode, status: http.StatusGone, title: "The token has expired",
			detail: "The token was not submitted in its time. Nothing was done with it and nothing will be: have a new one issued.",
		}, true
	case errors.Is(err, onceward.ErrTxEnded): // above all others: it must invite no retry
		return endedByWork, false
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return row.kind, true
		}
	}
	if conflicted(err) { // below the engine's own word, which may wrap a driver's and say that the end is not known
		return notCommitted, true
	}
	return internal, false
}

// conflicted: the database rolled the work back in favour of another one, by a deadlock or a serialization failure.
func conflicted(err error) bool {
	var driver interface{ SQLState() string }
	return errors.As(err, &driver) && (driver.SQLState() == "40P01" || driver.SQLState() == "40001")
}

// problems are the statuses of the problems that an operation's callers meet, by code.
func (o *Options) problems(op *onceward.Operation) map[string]int {
	list := map[string]int{}
	for _, k := range [...]kind{
		keyMissing, keyRepeated, keyMalformed, keyTooLong, unauthenticated, forbiddenCaller, bodyTooLarge, bodyIncomplete, bodyCoding,
		bodyInvalid, notStored, internal,
	} {
		list[k.code] = k.status
	}
	for _, row := range table {
		list[row.kind.code] = row.kind.status
	}
	told := []error{onceward.ErrKeyReused, onceward.ErrInFlight}
	if op.Submit > 0 {
		told = append(told, onceward.ErrNotIssued, onceward.ErrTokenExpired)
	}
	for _, err := range told {
		k, _ := o.kindOf(op, err)
		list[k.code] = k.status
	}
	if op.RefuseExpired == 0 && op.Submit == 0 {
		delete(list, "expired")
	}
	if o.Optional || op.Window > 0 {
		delete(list, keyMissing.code)
	}
	return list
}

// withoutField is a problem for a request whose key is not in the field, and so says nothing of it.
func withoutField(answer *Answer) *Answer {
	problem, ok := answer.Body.(Problem)
	if !ok {
		return answer
	}
	neutral := *answer
	problem.Detail = fieldless.Replace(problem.Detail)
	neutral.Body = problem
	return &neutral
}

var fieldless = strings.NewReplacer(
	" with the same Idempotency-Key", "",
	"; the same Idempotency-Key may be used afterwards", "",
	"; the same Idempotency-Key may be used", "",
	" under this key: look the result up, or send a new key for a new action.", ": look the result up.",
	"The Idempotency-Key stands for a request with another meaning. Send a new key for a new action.",
	"What identifies the action was sent before, with other content. Nothing was done now.",
)

// malformed answers a meaning that has no canonical form. A fingerprint's error holds nothing of the input.
func malformed(err error) *Answer {
	detail := ""
	if fault := (*fingerprint.Error)(nil); errors.As(err, &fault) {
		detail = "The request's " + fault.Part + " cannot be read: " + fault.Fault + "."
	}
	return bodyInvalid.answer(detail)
}
