package pgsqlstore

import "strings"

// endsTransaction reports whether a statement in query ends its transaction. database/sql does not tell what state a
// transaction is in, so that what comes after a raw COMMIT would be committed one by one: hence it is not sent at all.
// The lexer is PostgreSQL's with standard_conforming_strings on, as it is by default
// (https://www.postgresql.org/docs/current/sql-syntax-lexical.html); what it lets past by mistake is noticed when the
// record is inserted.
func endsTransaction(query string) bool {
	var words []string // that the statement begins with
	open := true       // more may come
	for query != "" {
		word, size := token(query)
		switch query = query[size:]; {
		case word == "": // space, a comment
		case word == ";":
			if ends(words) {
				return true
			}
			words, open = nil, true
		case open && isLetter(word[0]) && len(words) < 4:
			words = append(words, strings.ToUpper(word))
		default:
			open = false
		}
	}
	return ends(words)
}

// ends reports whether a statement that begins with words ends the transaction.
func ends(words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "COMMIT", "END", "ABORT":
		return true
	case "ROLLBACK":
		to := 1
		if len(words) > 1 && (words[1] == "WORK" || words[1] == "TRANSACTION") {
			to = 2
		}
		return len(words) <= to || words[to] != "TO"
	case "PREPARE":
		return len(words) > 1 && words[1] == "TRANSACTION"
	}
	return false
}

// token reads what sql begins with, and tells its length: a word, a sign or, as a quote, what is quoted; nothing for
// space and comments.
func token(sql string) (word string, size int) {
	switch c := sql[0]; {
	case strings.HasPrefix(sql, "--"):
		return "", line(sql)
	case strings.HasPrefix(sql, "/*"):
		return "", comment(sql)
	case c == ' ' || c >= '\t' && c <= '\r':
		return "", 1
	case (c == 'E' || c == 'e') && strings.HasPrefix(sql[1:], "'"):
		return "'", 1 + quoted(sql[1:], true)
	case c == '\'' || c == '"':
		return "'", quoted(sql, false)
	case c == '$':
		return "'", dollar(sql)
	case isLetter(c) || isDigit(c):
		size = 1
		for size < len(sql) && (isLetter(sql[size]) || isDigit(sql[size]) || sql[size] == '$') {
			size++
		}
		return sql[:size], size
	}
	return sql[:1], 1
}

// line is the length of a comment that ends with its line.
func line(sql string) int {
	if i := strings.IndexAny(sql, "\n\r"); i >= 0 {
		return i
	}
	return len(sql)
}

// comment is the length of a comment, with those that are nested in it.
func comment(sql string) int {
	depth := 0
	for i := 0; i < len(sql); {
		switch {
		case strings.HasPrefix(sql[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(sql[i:], "*/"):
			depth--
			if i += 2; depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(sql)
}

// quoted is the length of a text in the quotes that it begins with, in which a doubled quote is one.
func quoted(sql string, escapes bool) int {
	for i := 1; i < len(sql); i++ {
		switch {
		case escapes && sql[i] == '\\':
			i++
		case sql[i] != sql[0]:
		case i+1 < len(sql) && sql[i+1] == sql[0]:
			i++
		default:
			return i + 1
		}
	}
	return len(sql)
}

// dollar is the length of a text in dollar quotes, or of a lone dollar sign, as a parameter has it.
func dollar(sql string) int {
	end := 1
	for end < len(sql) && (isLetter(sql[end]) || end > 1 && isDigit(sql[end])) {
		end++
	}
	if end == len(sql) || sql[end] != '$' {
		return 1
	}
	quote := sql[:end+1]
	if i := strings.Index(sql[len(quote):], quote); i >= 0 {
		return 2*len(quote) + i
	}
	return len(sql)
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
