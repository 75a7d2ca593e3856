package mysqlstore

import (
	"regexp"
	"strings"
)

// kind is what a statement can do to the transaction that it is sent in.
type kind int

const (
	reads  kind = iota // nothing
	writes             // nothing, but for an error
	mayEnd             // it may end it
	ends               // it ends it, or commits it before it does anything else
)

// kinds are those of the statements by their first word; any other may end the transaction. What commits implicitly is
// listed at https://mariadb.com/kb/en/sql-statements-that-cause-an-implicit-commit/.
var kinds = func() map[string]kind {
	all := map[string]kind{}
	for kind, words := range map[kind]string{
		reads:  "SELECT WITH VALUES TABLE SHOW DESCRIBE DESC EXPLAIN HELP SAVEPOINT RELEASE",
		writes: "INSERT UPDATE DELETE REPLACE",
		ends: "COMMIT BEGIN START ROLLBACK XA LOCK UNLOCK ALTER CREATE DROP TRUNCATE RENAME GRANT REVOKE ANALYZE OPTIMIZE REPAIR CHECK " +
			"CACHE FLUSH RESET INSTALL UNINSTALL CHANGE STOP",
	} {
		for word := range strings.FieldsSeq(words) {
			all[word] = kind
		}
	}
	return all
}()

// exceptions are statements that are of another kind than their first word says.
var exceptions = map[string]struct {
	text *regexp.Regexp // of what follows the word
	kind kind
}{
	"ROLLBACK": {regexp.MustCompile(`(?i)^(\s+WORK)?\s+TO\b`), reads},                 // a savepoint
	"CREATE":   {regexp.MustCompile(`(?i)^(\s+OR\s+REPLACE)?\s+TEMPORARY\b`), mayEnd}, // a temporary table commits nothing
	"DROP":     {regexp.MustCompile(`(?i)^\s+TEMPORARY\b`), mayEnd},
	"ANALYZE":  {regexp.MustCompile(`(?i)^\s+(FORMAT|SELECT|UPDATE|DELETE|INSERT|REPLACE)\b`), mayEnd}, // an EXPLAIN that runs
	"SET":      {regexp.MustCompile(`(?i)\bautocommit\b`), ends},
}

var (
	word     = regexp.MustCompile(`^[A-Za-z]+`)
	locking  = regexp.MustCompile(`(?i)\b(FOR\s+(UPDATE|SHARE)|LOCK\s+IN)\b`)
	executed = regexp.MustCompile(`/\*M?!`)
	dashes   = regexp.MustCompile(`^--(\s|$)`)
)

// kindOf is the kind of a statement, and its first word.
func kindOf(query string) (kind, string) {
	text := skipBlank(query)
	first := strings.ToUpper(word.FindString(text))
	kind, known := kinds[first]
	if !known {
		kind = mayEnd
	}
	if exception, ok := exceptions[first]; ok && exception.text.MatchString(text[len(first):]) {
		kind = exception.kind
	}
	if kind < mayEnd && several(query) {
		kind = mayEnd
	}
	return kind, first
}

// skipBlank cuts off what may come before the first word. A comment that the server executes is not blank.
func skipBlank(text string) string {
	for {
		text = strings.TrimLeft(text, " \t\r\n\v\f(")
		switch {
		case strings.HasPrefix(text, "#"), dashes.MatchString(text):
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*") && !executed.MatchString(text[:min(4, len(text))]):
			_, text, _ = strings.Cut(text[2:], "*/")
		default:
			return text
		}
	}
}

// several reports whether a text may hold more than one statement, or one that does not start with its first word.
func several(query string) bool {
	return strings.Contains(strings.TrimRight(query, "; \t\r\n"), ";") || executed.MatchString(query)
}

// mayLock reports whether a query whose rows are still to come may fail while they do so: it waits for locks.
func mayLock(query string) bool {
	kind, _ := kindOf(query)
	return kind != reads || locking.MatchString(query)
}
