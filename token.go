package onceward

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/fingerprint"
)

// SubjectBytesMax bounds what a token is issued for.
const SubjectBytesMax = 512

// tokenMark makes, of an operation's name, the name under which its issued tokens are recorded. No operation has such a name.
const tokenMark = "#token"

// kindSubject is the kind of an issued token's outcome: what it was issued for.
const kindSubject = "subject"

// Issue makes a token, the key of one command of op to come: its record, in StateIssued under the name of op and "#token", stands if and only if tx commits, for
// example together with the quote that the token is for. It can be submitted for op.Submit, by nobody outside of scope and
// for no other operation. Subject, UTF-8 of at most SubjectBytesMax bytes, is what the work will read with Subject, so
// that it need not trust the request. A token is a secret of 130 random bits.
func (e *Engine[Tx]) Issue(ctx context.Context, tx Tx, op *Operation, scope Scope, subject string) (token string, _ error) {
	c := op.For(scope, rand.Text(), nil)
	switch err := c.validate(); {
	case err != nil:
		return "", err
	case op.Submit == 0:
		return "", fmt.Errorf("%w: %s: Submit says for how long a token can be submitted", ErrOperation, op.Name)
	case !storable(subject, SubjectBytesMax):
		return "", fmt.Errorf("%w: %s: a subject must be UTF-8 without NUL, at most %d bytes", ErrMeaning, op.Name, SubjectBytesMax)
	}
	call := newCall(c)
	want, err := call.token()
	if err != nil {
		return "", call.wrap(err)
	}
	attempt, record, err := e.store.Join(ctx, tx, want)
	if err == nil && record != nil {
		err = ErrTaken // not by a random key
	}
	if err == nil {
		_, err = attempt.Save(ctx, Outcome{Kind: kindSubject, Data: []byte(subject)})
	}
	if err != nil {
		return "", call.wrap(err)
	}
	return c.Key, nil
}

// Subject is what the token was issued for that a work's command has as its key: of an operation with Submit. It is empty in
// any other context.
func Subject(ctx context.Context) string {
	if call, ok := ctx.Value(callKey{}).(*call); ok {
		return call.subject
	}
	return ""
}

// token is the record of the call's key as an issued token. It is kept until nothing can come of the key any more: so
// long as it is there, a key that is not was never issued.
func (c *call) token() (*Record, error) {
	want := c.want
	want.Operation += tokenMark
	want.ID = idOf(want.Operation, want.Scope, want.Key)
	want.State = StateIssued
	want.Life, want.Keep = c.operation.Submit, want.Life+want.Keep
	meaning, err := fingerprint.Value(nil)
	if err == nil {
		want.Fingerprint, err = fingerprint.Of(meaning)
	}
	_, _ = rand.Read(want.Attempt[:]) // never fails (crypto/rand)
	return &want, err
}

// present looks up the token that the call's key has to be, before anything is claimed. One whose time to be submitted is
// over may have been submitted in time: then there is a record to be replayed.
func (e *Engine[Tx]) present(ctx context.Context, call *call) error {
	if call.operation.Submit == 0 {
		return nil
	}
	began := time.Now()
	record, err := e.issued(ctx, call)
	switch {
	case err != nil:
		return call.wrap(err)
	case record == nil:
		return call.wrap(ErrNotIssued)
	}
	call.subject, call.submit = string(record.Outcome.Data), began.Add(record.Life)
	return nil
}

// issued reads the record of the token that is the call's key; nil if there is none.
func (e *Engine[Tx]) issued(ctx context.Context, call *call) (*Record, error) {
	want, err := call.token()
	if err != nil {
		return nil, err
	}
	record, err := e.store.Find(ctx, want)
	if err == nil && record != nil && record.State != StateIssued {
		return nil, errors.New("onceward: the record of a token is not in the state issued")
	}
	return record, err
}

// late gives up a claim that was won with a token whose time to be submitted is over.
func (e *Engine[Tx]) late(ctx context.Context, call *call, attempt Attempt[Tx]) error {
	if call.operation.Submit == 0 || time.Now().Before(call.submit) {
		return nil
	}
	return errors.Join(call.wrap(ErrTokenExpired), e.rollback(ctx, call, attempt))
}

// findToken is Find for a token without a result: what a caller knows it by, and its state.
func (e *Engine[Tx]) findToken(ctx context.Context, call *call) (*Record, error) {
	record, err := e.issued(ctx, call)
	if err != nil || record == nil {
		return nil, err
	}
	found := call.want
	found.State, found.Attempt, found.Life, found.CreatedAt, found.ExpiresAt = StateIssued, record.Attempt, record.Life, record.CreatedAt, record.ExpiresAt
	if found.Life <= 0 {
		found.State = StateExpired
	}
	return &found, nil
}
