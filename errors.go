package onceward

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
)

// What a caller of the engine branches on with errors.Is.
var (
	// ErrInFlight: the first attempt still runs (or its end is not known yet). Send the same command again later.
	ErrInFlight = errors.New("onceward: the first attempt is still running")
	// ErrKeyReused: the key stands for a command with another meaning. Use a new key for a new action.
	ErrKeyReused = errors.New("onceward: the key was used for a command with another meaning")
	// ErrExpired: the key's record is past its retention and the operation refuses such keys.
	ErrExpired = errors.New("onceward: the key's result has expired")
	// ErrNotIssued: the key is no token that was issued for this operation and scope, or it is no longer kept.
	ErrNotIssued = errors.New("onceward: the key is no token that was issued to this caller")
	// ErrTokenExpired: the token was not submitted in its time; nothing was done and nothing will be. Have a new one issued.
	ErrTokenExpired = errors.New("onceward: the token was not submitted in its time")
	// ErrCommitUnresolved: whether the transaction committed could not be learned in time. Nothing will run twice; send
	// the same command again to learn it.
	ErrCommitUnresolved = errors.New("onceward: it is not known yet whether the transaction committed")
	// ErrNotCommitted: the transaction did not commit and nothing remains of it. Send the same command again.
	ErrNotCommitted = errors.New("onceward: the transaction did not commit")
	// ErrUnavailable: the store could not be reached or could not take the attempt now; nothing was written.
	ErrUnavailable = errors.New("onceward: the store is unavailable")
	// ErrSchema: the store's tables are missing or old: run the store's Migrate. Trying again does not help.
	ErrSchema = errors.New("onceward: the store's tables are missing or old: run the store's Migrate")
	// ErrAborted: the attempt that a duplicate waited for ended by panic or runtime.Goexit; it was rolled back.
	ErrAborted = errors.New("onceward: the attempt was aborted and rolled back")
	// ErrUntouched: the work wrote nothing through its transaction (see Options.FailUntouched). The record stands.
	ErrUntouched = errors.New("onceward: the work wrote nothing through its transaction")
	// ErrOutcomeTooLarge: the outcome exceeds Options.OutcomeBytesMax; the work was rolled back.
	ErrOutcomeTooLarge = errors.New("onceward: the outcome is too large to be stored")

	// ErrOperation: the operation's policy is not valid: a programming error.
	ErrOperation = errors.New("onceward: the operation is not valid")
	// ErrScope: the scope lacks a part, or cannot be stored.
	ErrScope = errors.New("onceward: the scope is not valid")
	// ErrKey: the key is blank or cannot be stored.
	ErrKey = errors.New("onceward: the key is not valid")
	// ErrMeaning: the meaning cannot be digested: malformed JSON, for example.
	ErrMeaning = errors.New("onceward: the command's meaning is not valid")
)

// What a store tells the engine.
var (
	// ErrTaken: Save met another attempt's record; the transaction was rolled back.
	ErrTaken = errors.New("onceward: another attempt saved its record first")
	// ErrCommitUnknown: the connection broke during the commit.
	ErrCommitUnknown = errors.New("onceward: the commit's end is unknown")
	// ErrCollision: two commands share an id; the second is refused. Not expected before 2^64 records.
	ErrCollision = errors.New("onceward: the id belongs to another command")
	// ErrTxEnded: the transaction is not (any more) the work's to use or to end; also the verdict on a work that ended
	// its transaction by raw SQL.
	ErrTxEnded = errors.New("onceward: the transaction is not the work's to end, or is over")
)

// Error is an error of the engine about one command. It carries what is safe to show: the operation and the public id,
// never the key or the meaning. A work's own error is passed through and not wrapped in it.
type Error struct {
	Operation string
	ID        string // the public id (see ID.Public); empty where the command has no identity
	Err       error
}

// Error names the operation and the public id.
func (e *Error) Error() string { return e.Err.Error() + " (" + e.Operation + ", " + e.ID + ")" }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// sentinels are the reasons that may be told: their texts are constants.
var sentinels = []error{
	ErrInFlight, ErrKeyReused, ErrExpired, ErrNotIssued, ErrTokenExpired, ErrCommitUnresolved, ErrNotCommitted, ErrUnavailable,
	ErrSchema, ErrAborted, ErrUntouched, ErrOutcomeTooLarge, ErrMeaning, ErrTaken, ErrCommitUnknown, ErrCollision, ErrTxEnded, context.Canceled, context.DeadlineExceeded,
}

var sqlState = regexp.MustCompile(`^[0-9A-Z]{5}$`)

// Reason is what may be logged of err: the package's sentinels that it matches, the SQLSTATE or the number of a driver's
// error (one with a method SQLState() string, or Code() int as SQLite's has), and the operating system's word, such as
// "connection refused". A work's or a driver's own text may quote what the caller sent, and is left out. Empty where
// nothing is known of it.
func Reason(err error) string {
	var reasons []string
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			reasons = append(reasons, sentinel.Error())
		}
	}
	var driver interface{ SQLState() string }
	if errors.As(err, &driver) && sqlState.MatchString(driver.SQLState()) {
		reasons = append(reasons, "SQLSTATE "+driver.SQLState())
	}
	var numbered interface{ Code() int }
	if errors.As(err, &numbered) {
		reasons = append(reasons, fmt.Sprintf("code %d", numbered.Code()))
	}
	if number := syscall.Errno(0); errors.As(err, &number) {
		reasons = append(reasons, number.Error())
	}
	return strings.Join(reasons, "; ")
}
