package onceward

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/onceward/onceward/fingerprint"
)

// Bounds of what identifies a command, in bytes.
const (
	NameBytesMax  = 100
	ScopeBytesMax = 255 // tenant and principal each
	KeyBytesMax   = 512
)

// Bounds of an operation's times.
const (
	RetentionDefault = 24 * time.Hour
	RetentionMax     = 10 * 365 * 24 * time.Hour
	WaitMax          = time.Minute
	WindowMax        = 24 * time.Hour
)

// Per says whose the keys of an operation are.
type Per uint8

const (
	// Principal: a key belongs to the caller; the same key of another principal is another command.
	Principal Per = iota
	// Tenant: a key belongs to the whole tenant, as a shipping or payment number does; who sends it does not matter.
	Tenant
)

// String is the word of the contract: "principal" or "tenant".
func (p Per) String() string {
	if p == Tenant {
		return "tenant"
	}
	return "principal"
}

// Operation is a named, versioned action with its policy. It is not changed after its first use and may be shared by
// any number of goroutines.
type Operation struct {
	// Name identifies the action and its version, for example "create-order.v1": 1 to 100 letters, digits, '.', '_' or '-'.
	// Two actions must not have one name: a command of one would be answered with the result of the other.
	Name string
	// Retention is how long a record answers its retries, counted from the moment it is saved by the database's clock.
	// Reads do not extend it. At most ten years. Defaults to 24 hours.
	Retention time.Duration
	// Wait is how long a duplicate waits for a running first attempt before it is told ErrInFlight. At most a minute.
	// Defaults to 0: it is told at once.
	Wait time.Duration
	// Per says whose the keys are. It is part of what identifies a command: under another Per, as under another Name, a
	// retry does not find the record of before and runs again. Defaults to Principal.
	Per Per
	// RefuseExpired is how long after its retention a key is refused with ErrExpired. Defaults to 0: an expired key may
	// be claimed anew.
	RefuseExpired time.Duration
	// Window identifies a command without a key by its meaning: within this time of the first one's saving, commands that
	// mean the same are the same. It is for actions whose repetition nobody can want; a command that brings a key is one of
	// its own, kept for Retention. At most a day. Defaults to 0: every command needs a key.
	Window time.Duration
	// Submit makes the operation take keys only that Engine.Issue has issued, and says how long a token can be submitted. A
	// token's result is confirmed for Retention, which is counted from the saving: two lives. At most ten years. Defaults to 0:
	// the caller chooses the key.
	Submit time.Duration
	// WritesNothing declares that the work writes no rows through its transaction, so that the engine does not report a
	// missed transaction.
	WritesNothing bool
}

// For is the command that asks for o in scope under key. Meaning is what has to match on a retry: nil where the key says
// everything, a fingerprint.Meaning, or any value that encoding/json can marshal.
func (o *Operation) For(scope Scope, key string, meaning any) Command {
	return Command{Operation: o, Scope: scope, Key: key, Meaning: meaning}
}

// Validate says what is wrong with o, as an error that matches ErrOperation. A door calls it when it is built.
func (o *Operation) Validate() error {
	switch {
	case o == nil:
		return fmt.Errorf("%w: it is nil", ErrOperation)
	case len(o.Name) == 0 || len(o.Name) > NameBytesMax || strings.IndexFunc(o.Name, notName) >= 0:
		return fmt.Errorf("%w: the name %.120q must be 1 to %d letters, digits, '.', '_' or '-'", ErrOperation, o.Name, NameBytesMax)
	case o.Retention < 0 || o.Retention > RetentionMax:
		return fmt.Errorf("%w: %s: the retention %v must be between 0 and %v", ErrOperation, o.Name, o.Retention, RetentionMax)
	case o.Wait < 0 || o.Wait > WaitMax:
		return fmt.Errorf("%w: %s: the wait %v must be between 0 and %v", ErrOperation, o.Name, o.Wait, WaitMax)
	case o.RefuseExpired < 0 || o.RefuseExpired > RetentionMax:
		return fmt.Errorf("%w: %s: RefuseExpired %v must be between 0 and %v", ErrOperation, o.Name, o.RefuseExpired, RetentionMax)
	case o.Window < 0 || o.Window > WindowMax:
		return fmt.Errorf("%w: %s: the window %v must be between 0 and %v", ErrOperation, o.Name, o.Window, WindowMax)
	case o.Submit < 0 || o.Submit > RetentionMax:
		return fmt.Errorf("%w: %s: Submit %v must be between 0 and %v", ErrOperation, o.Name, o.Submit, RetentionMax)
	case o.Submit > 0 && o.Window > 0:
		return fmt.Errorf("%w: %s: a command is identified by its token (Submit) or by its meaning (Window), not by both", ErrOperation, o.Name)
	case o.Submit > 0 && len(o.Name)+len(tokenMark) > NameBytesMax:
		return fmt.Errorf("%w: %s: the name of an operation with Submit must have at most %d bytes", ErrOperation, o.Name, NameBytesMax-len(tokenMark))
	case o.Per > Tenant:
		return fmt.Errorf("%w: %s: Per must be Principal or Tenant", ErrOperation, o.Name)
	}
	return nil
}

func notName(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
}

func (o *Operation) retention() time.Duration {
	if o.Retention == 0 {
		return RetentionDefault
	}
	return o.Retention
}

// Scope is who asks, taken from the authenticated caller and never from what he may write himself. A part that the
// operation needs (Principal by default, Tenant where Per is Tenant) and that is empty is refused: there is no anonymous scope.
type Scope struct {
	Tenant    string
	Principal string
}

// Command is one business action: a retry carries the same command.
type Command struct {
	Operation *Operation
	Scope     Scope
	Key       string // may be empty where the operation has a Window
	Meaning   any

	windowed bool // the key is the digest of the meaning
}

// Identified gives c its key where it has none and its operation has a Window: the digest of its meaning. Its error
// matches ErrMeaning. The engine does so by itself; a door does it to have the key before.
func (c Command) Identified() (Command, error) {
	if c.Key != "" || c.Operation == nil || c.Operation.Window == 0 {
		return c, nil
	}
	meaning, err := fingerprint.Value(c.Meaning)
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrMeaning, err)
	}
	canonical, err := meaning.Canonical(meaning.Current())
	if err != nil {
		return c, fmt.Errorf("%w: %w", ErrMeaning, err)
	}
	c.Key, c.windowed = "content "+hex.EncodeToString(canonical[:]), true
	return c, nil
}

// KeyOf is a key of several parts, such as a channel, a merchant and a number: no two lists of parts have one key. It is
// readable where the parts are.
func KeyOf(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = keyEscape.Replace(part)
	}
	return strings.Join(escaped, "/")
}

var keyEscape = strings.NewReplacer("~", "~~", "/", "~.")

func (c Command) validate() error {
	if err := c.Operation.Validate(); err != nil {
		return err
	}
	switch {
	case c.Operation.Per == Tenant && c.Scope.Tenant == "":
		return fmt.Errorf("%w: %s needs the caller's tenant", ErrScope, c.Operation.Name)
	case c.Operation.Per == Principal && c.Scope.Principal == "":
		return fmt.Errorf("%w: %s needs the caller's principal", ErrScope, c.Operation.Name)
	case !storable(c.Scope.Tenant, ScopeBytesMax) || !storable(c.Scope.Principal, ScopeBytesMax):
		return fmt.Errorf("%w: tenant and principal must be UTF-8 without NUL, at most %d bytes each", ErrScope, ScopeBytesMax)
	case strings.TrimSpace(c.Key) == "":
		return fmt.Errorf("%w: it is empty or blank", ErrKey)
	case !storable(c.Key, KeyBytesMax):
		return fmt.Errorf("%w: it must be UTF-8 without NUL, at most %d bytes", ErrKey, KeyBytesMax)
	}
	return nil
}

// storable: what every database's text column takes and gives back unchanged.
func storable(s string, bytesMax int) bool {
	return len(s) <= bytesMax && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}
