package arch

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const proofsPage = "docs/proofs.md"

// fieldCases are the failures of other systems that have a test by their id.
var fieldCases = strings.Fields("F03 F04 F06 F08 F09 F10 F11 F14 F15 F16 F18 F19 F21 F22 F23 F25 F26 F28 F30 F32")

var (
	namedTest = regexp.MustCompile("`(Test[^`]*)`")
	namedCase = regexp.MustCompile(`\bF\d\d\b`)
)

// proofRows are the rows of the page's tables.
func proofRows(t *testing.T) (rows []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, proofsPage))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, line)
		}
	}
	return rows
}

// names are what a test can be called: the project's test functions, and its string literals as go test writes them, of which the
// names of subtests are some.
func names(t *testing.T) (functions, literals map[string]bool) {
	functions, literals = map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		ast.Inspect(s.syntax, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.FuncDecl:
				functions[n.Name.Name] = s.test || functions[n.Name.Name]
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil {
					literals[strings.ReplaceAll(text, " ", "_")] = true
				}
			}
			return true
		})
	}
	return functions, literals
}

// TestProofsExist fails where the page names a test, or a subtest, that is not there.
func TestProofsExist(t *testing.T) {
	functions, literals := names(t)
	named := 0
	for _, row := range proofRows(t) {
		for _, match := range namedTest.FindAllStringSubmatch(row, -1) {
			named++
			parts := strings.Split(match[1], "/")
			if !functions[parts[0]] {
				t.Errorf("%s names %s, which does not exist", proofsPage, match[1])
			}
			for _, subtest := range parts[1:] {
				if !literals[subtest] {
					t.Errorf("%s names %s, but no test is called %s", proofsPage, match[1], subtest)
				}
			}
		}
	}
	if named < 100 {
		t.Errorf("%s names %d tests only: is it read right?", proofsPage, named)
	}
}

// TestFieldCasesAreProven fails where a case from the field has no row with a test that bears its id.
func TestFieldCasesAreProven(t *testing.T) {
	proven := map[string]bool{}
	for _, row := range proofRows(t) {
		for _, id := range namedCase.FindAllString(strings.Split(row, "|")[1], -1) {
			for _, match := range namedTest.FindAllStringSubmatch(row, -1) {
				proven[id] = proven[id] || strings.Contains(match[1], id)
			}
		}
	}
	for _, id := range fieldCases {
		if !proven[id] {
			t.Errorf("%s has no test for %s by its id", proofsPage, id)
		}
	}
}
