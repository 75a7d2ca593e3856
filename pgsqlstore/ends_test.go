package pgsqlstore

import (
	"strings"
	"testing"
)

// Against the server's own lexer the texts are tested in internal/pgsqltest.
func TestEndsTransaction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                          false,
		"commit":                    true,
		"COMMIT PREPARED 'x'":       true, // cannot be sent in a transaction anyhow
		"  \t\r\n\f\vEnd;":          true,
		"committed":                 false,
		"rollback to a":             false,
		"ROLLBACK/**/TO/**/a":       false,
		"ROLLBACK WORK TO a":        false,
		"ROLLBACK TRANSACTION":      true,
		"ROLLBACK 'TO'":             true,
		"ROLLBACK; TO":              true,
		"PREPARE transaction":       true,
		"PREPARE commit AS VALUES":  false,
		"SELECT 1; ABORT":           true,
		"SELECT $1; COMMIT":         true,
		"SELECT $1$1; COMMIT":       true, // $1$ opens no quotes
		"SELECT $a1$;COMMIT$a1$":    false,
		"SELECT a$$;COMMIT;$$":      true, // within a name the sign is a letter
		"SELECT e'\\\\';COMMIT":     true,
		"SELECT 1e'\\';COMMIT":      true, // no text with escapes begins in a number
		"SELECT '":                  false,
		"/* /* */ COMMIT":           false,
		"/* */ */ COMMIT":           false, // an operator, and a mistake
		"--":                        false,
		"/*":                        false,
		"$":                         false,
		"$a":                        false,
		"$a$":                       false,
		"E'\\":                      false,
		"\u00a0COMMIT":              false, // a letter to PostgreSQL
		"SELECT 1;COMMIT;SELECT 1;": true,
	} {
		if got := endsTransaction(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

// FuzzEndsTransaction: whatever is quoted or commented ends nothing, and hides nothing that comes behind it.
func FuzzEndsTransaction(f *testing.F) {
	for _, text := range []string{"", "a", "'", "\\", "\\'", "*/", "/*", "$$", "\n", "\r", ";COMMIT;", "E'", "\"", "--", "$a$", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = endsTransaction(text)
		double := func(quote string) string { return quote + strings.ReplaceAll(text, quote, quote+quote) + quote }
		hidden := []string{
			double("'"), double(`"`),
			"E'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'",
			"/*" + strings.NewReplacer("/*", "", "*/", "", "*", "", "/", "").Replace(text) + "*/",
			"--" + strings.NewReplacer("\n", "", "\r", "").Replace(text) + "\n",
			"$q$" + strings.ReplaceAll(text, "$", "") + "$q$",
		}
		for _, part := range hidden {
			if endsTransaction("SELECT " + part) {
				t.Errorf("%q ends nothing", "SELECT "+part)
			}
			if !endsTransaction("SELECT " + part + ";COMMIT") {
				t.Errorf("%q ends the transaction", "SELECT "+part+";COMMIT")
			}
		}
	})
}
