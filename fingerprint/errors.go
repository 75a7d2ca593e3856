package fingerprint

import (
	"errors"
	"fmt"
)

var (
	// ErrVersion says that a meaning cannot be digested under the version asked
	// for: the rule was removed, or a newer build wrote the record.
	ErrVersion = errors.New("fingerprint: unknown version")

	// ErrMalformed says that the input has no canonical form. The error that
	// wraps it is an [*Error].
	ErrMalformed = errors.New("fingerprint: malformed input")
)

// Error says why and where an input has no canonical form. It never holds
// anything of the input itself, so it is safe in logs and answers.
// errors.Is(err, [ErrMalformed]) holds for every Error.
type Error struct {
	// Part is the part of the meaning at fault: "json", "query", "form",
	// "multipart" or "content type".
	Part string
	// Fault says what is wrong, in a fixed phrase.
	Fault string
	// Offset counts bytes from the start of the part. For a duplicate member
	// it is where the later name begins, for a multipart body where the broken
	// part begins.
	Offset int
}

// Error implements the error interface.
func (e *Error) Error() string {
	return fmt.Sprintf("%v: %s: %s at byte %d", ErrMalformed, e.Part, e.Fault, e.Offset)
}

// Unwrap returns [ErrMalformed].
func (e *Error) Unwrap() error { return ErrMalformed }

func errVersion(v Version) error {
	return fmt.Errorf("%w: encoding %d, rule %d", ErrVersion, v>>16, v&0xffff)
}
