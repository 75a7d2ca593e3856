package examples

import (
	"bytes"
	"flag"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"testing"
)

var update = flag.Bool("update", false, "write the code into docs/guide.md anew")

const guide = "../guide.md"

var (
	shown = regexp.MustCompile("(?s)<!-- code: (\\w+) -->\n(\n```go\n.*?\n```\n)?")
	named = regexp.MustCompile("`(Test\\w+)`")
)

// TestGuideShowsTheExamples: what a reader copies from the guide is what runs here.
func TestGuideShowsTheExamples(t *testing.T) {
	text := must(os.ReadFile(guide))
	files := 0
	got := shown.ReplaceAllFunc(text, func(block []byte) []byte {
		files++
		name := string(shown.FindSubmatch(block)[1])
		return []byte("<!-- code: " + name + " -->\n\n```go\n" + string(codeOfFile(t, name+"_test.go")) + "\n```\n")
	})
	if files < 9 {
		t.Errorf("the guide shows %d examples", files)
	}
	switch {
	case *update:
		must(0, os.WriteFile(guide, got, 0o644))
	case !bytes.Equal(got, text):
		t.Error("docs/guide.md does not show the code that runs (go test -update writes it anew)")
	}
}

// codeOfFile is a file from its first declaration on.
func codeOfFile(t *testing.T, path string) []byte {
	t.Helper()
	source := must(os.ReadFile(path))
	set := token.NewFileSet()
	file := must(parser.ParseFile(set, path, source, parser.ImportsOnly))
	end := file.Name.End()
	for _, declaration := range file.Decls {
		end = declaration.End()
	}
	return bytes.TrimSpace(source[set.Position(end).Offset:])
}

// TestGuideNamesTestsThatExist reads the tests of the shop.
func TestGuideNamesTestsThatExist(t *testing.T) {
	var tests []byte
	for _, folder := range []string{"../../shop/", "../../shop/proofs/"} {
		for _, entry := range must(os.ReadDir(folder)) {
			if !entry.IsDir() {
				tests = append(tests, must(os.ReadFile(folder+entry.Name()))...)
			}
		}
	}
	names := named.FindAllSubmatch(must(os.ReadFile(guide)), -1)
	if len(names) < 30 {
		t.Errorf("the guide names %d tests", len(names))
	}
	for _, name := range names {
		if !bytes.Contains(tests, []byte("func "+string(name[1])+"(")) {
			t.Errorf("the guide names %s, which is no test of the shop", name[1])
		}
	}
}
