package pgsqlstore

import (
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"strings"
)

// orZero makes a place for a column that may be null, which leaves the zero value there.
func orZero[T any](place *T) sql.Scanner { return nullable[T]{place} }

type nullable[T any] struct{ place *T }

// Scan implements sql.Scanner.
func (n nullable[T]) Scan(from any) error {
	var value sql.Null[T]
	err := value.Scan(from)
	*n.place = value.V
	return err
}

// uuid is an id or a token on its way to the database and back: all drivers take and give a uuid as text.
type uuid [16]byte

// Value implements driver.Valuer.
func (u uuid) Value() (driver.Value, error) { return hex.EncodeToString(u[:]), nil }

// Scan implements sql.Scanner.
func (u *uuid) Scan(from any) error {
	var text string
	switch from := from.(type) {
	case string:
		text = from
	case []byte:
		text = string(from)
	case nil:
		return nil
	}
	digits := strings.ReplaceAll(text, "-", "")
	if len(digits) != hex.EncodedLen(len(u)) {
		return fmt.Errorf("pgsqlstore: the driver gave a %T for a uuid, want its text", from)
	}
	_, err := hex.Decode(u[:], []byte(digits))
	return err
}
