package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// How long the project's functions may be, in lines from "func" to the closing brace.
const (
	linesMost   = 70
	linesOf90th = 40
	linesMedian = 12
)

// function is one declared function of the code that is not a test.
type function struct {
	name  string
	at    token.Position
	lines int
}

// functions returns all functions of the project's code, the shortest first.
func functions(t *testing.T) (all []function) {
	for _, s := range sources(t) {
		if s.test || ast.IsGenerated(s.syntax) {
			continue
		}
		for _, declaration := range s.syntax.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok {
				begin, end := positions.Position(f.Pos()), positions.Position(f.End())
				all = append(all, function{f.Name.Name, begin, end.Line - begin.Line + 1})
			}
		}
	}
	slices.SortFunc(all, func(a, b function) int { return a.lines - b.lines })
	return all
}

func TestFunctionsAreShort(t *testing.T) {
	all := functions(t)
	median, ninetieth := all[len(all)/2].lines, all[len(all)*9/10].lines
	t.Logf("%d functions: median %d lines, 90th percentile %d, longest %d", len(all), median, ninetieth, all[len(all)-1].lines)
	if median > linesMedian {
		t.Errorf("the median function has %d lines, want at most %d", median, linesMedian)
	}
	if ninetieth > linesOf90th {
		t.Errorf("the 90th percentile of the functions has %d lines, want at most %d", ninetieth, linesOf90th)
	}
	for _, f := range all {
		if f.lines > linesMost {
			t.Errorf("%s: %s has %d lines, want at most %d", f.at, f.name, f.lines, linesMost)
		}
	}
}

// TestPublicNamesAreDocumented fails on an exported name without a comment, and on a public package without one.
func TestPublicNamesAreDocumented(t *testing.T) {
	described := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !s.public() {
			continue
		}
		described[s.folder] = described[s.folder] || s.syntax.Doc != nil
		for _, name := range undocumented(s.syntax) {
			t.Errorf("%s: %s is exported and has no comment", positions.Position(name.Pos()), name.Name)
		}
	}
	for folder, ok := range described {
		if !ok {
			t.Errorf("package %q has no package comment", folder)
		}
	}
}

// public reports whether another module can import the file's package.
func (s source) public() bool {
	return s.syntax.Name.Name != "main" && !slices.Contains(strings.Split(s.folder, "/"), "internal")
}

func undocumented(file *ast.File) (names []*ast.Ident) {
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && ast.IsExported(receiver(d)) {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			if d.Doc == nil || d.Tok == token.TYPE && d.Lparen.IsValid() {
				names = append(names, undocumentedSpecs(d)...)
			}
		}
	}
	return slices.DeleteFunc(names, func(name *ast.Ident) bool { return !name.IsExported() })
}

// undocumentedSpecs returns the names of a declaration whose own lines have no comment. A comment above the whole group serves
// constants and variables, but not types.
func undocumentedSpecs(group *ast.GenDecl) (names []*ast.Ident) {
	for _, spec := range group.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Doc == nil && s.Comment == nil {
				names = append(names, s.Name)
			}
		case *ast.ValueSpec:
			if s.Doc == nil && s.Comment == nil {
				names = append(names, s.Names...)
			}
		}
	}
	return names
}

// receiver is the name of the type that a method belongs to, and of a function its own.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	name := ""
	ast.Inspect(f.Recv.List[0].Type, func(node ast.Node) bool {
		if identifier, ok := node.(*ast.Ident); ok && name == "" {
			name = identifier.Name
		}
		return true
	})
	return name
}
