package oncetest

import (
	"regexp"
	"strings"
)

// labelsMax bounds the statements of one step that its name has.
const labelsMax = 8

// textBytesMax is how much of a text is read for its name.
const textBytesMax = 4 << 10

var (
	// literals and comments may hold any word, and values must not be shown.
	literals    = regexp.MustCompile(`(?s)'(?:[^']|'')*(?:'|$)|\$(\w*)\$.*?\$(\w*)\$|--[^\n]*|/\*.*?\*/`)
	verb        = regexp.MustCompile(`^[\s(]*([A-Za-z]+)`)
	target      = regexp.MustCompile("(?i)\\b(INSERT\\s+(?:IGNORE\\s+)?INTO|REPLACE\\s+INTO|MERGE\\s+INTO|DELETE\\s+FROM|UPDATE)\\s+(?:ONLY\\s+)?([\\w.\"`]+)")
	source      = regexp.MustCompile("(?i)\\bFROM\\s+(?:ONLY\\s+)?([\\w.\"`]+)")
	parentheses = regexp.MustCompile(`\([^()]*\)`)
	space       = regexp.MustCompile(`\s+`)
)

// labels names each statement of a text. A comment alone, such as a driver's ping, is none.
func labels(text string) (all []string) {
	for part := range strings.SplitSeq(literals.ReplaceAllString(text[:min(len(text), textBytesMax)], " "), ";") {
		switch {
		case strings.TrimSpace(part) == "":
		case len(all) == labelsMax:
			return append(all, "…")
		default:
			all = append(all, label(part))
		}
	}
	return all
}

// label names a statement by what it does and to which table: SELECT orders, INSERT INTO orders, COMMIT. It has no values: where
// a backslash makes it unclear where a value ends, the name is the verb.
func label(statement string) string {
	statement = statement[:min(len(statement), textBytesMax)]
	unclear := strings.Contains(statement, `\`)
	statement = literals.ReplaceAllString(statement, " ")
	first := verb.FindStringSubmatch(statement)
	if first == nil {
		return "a statement"
	}
	name := strings.ToUpper(first[1])
	if unclear {
		return name
	}
	switch name {
	case "INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE", "WITH":
		if found := target.FindStringSubmatch(statement); found != nil {
			return strings.ToUpper(space.ReplaceAllString(found[1], " ")) + " " + unquoted(found[2])
		}
	case "START":
		return "BEGIN"
	case "END":
		return "COMMIT"
	}
	if found := source.FindStringSubmatch(flat(statement)); found != nil && name != "SET" {
		return name + " " + unquoted(found[1])
	}
	return name
}

// flat is a statement without what stands in parentheses, where FROM may be a part of an expression.
func flat(statement string) string {
	for {
		shorter := parentheses.ReplaceAllString(statement, " ")
		if shorter == statement {
			return statement
		}
		statement = shorter
	}
}

// unquoted bounds and cleans a table's name.
func unquoted(name string) string { return strings.Trim(name[:min(len(name), 64)], "\"`") }
