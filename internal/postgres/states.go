package postgres

import "strings"

// The SQLSTATEs that the stores tell apart (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	UniqueViolation   = "23505"
	NotNullViolation  = "23502"
	ReadOnly          = "25006"
	Aborted           = "25P02"
	IdleTimeout       = "25P03" // always FATAL
	NoSuchStatement   = "26000"
	StatementExists   = "42P05"
	UndefinedTable    = "42P01"
	UndefinedColumn   = "42703"
	LockNotAvailable  = "55P03"
	QueryCanceled     = "57014"
	NotSupported      = "0A000" // a cached plan's result has changed; also a standby's answer to READ WRITE
	CompletionUnknown = "40003"
)

// Unavailable: the server is going, has no room, or takes no writes.
func Unavailable(code string) bool {
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53") || strings.HasPrefix(code, "57P") ||
		code == ReadOnly || code == NotSupported || code == IdleTimeout
}

// StaleStatement: a statement prepared earlier is no more what it was. Prepared anew it works, unless the cause is another.
func StaleStatement(code string) bool {
	return code == NotSupported || code == NoSuchStatement || code == StatementExists
}

// NoSchema: the table, or a column of it, is not there.
func NoSchema(code string) bool { return code == UndefinedTable || code == UndefinedColumn }
