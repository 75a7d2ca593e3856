package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// root is the project's folder, from this one.
const root = "../.."

// source is one parsed Go file of the project.
type source struct {
	path   string // from the project's folder
	folder string // "" for the root
	test   bool
	syntax *ast.File
}

var positions = token.NewFileSet()

var parseAll = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipped(entry.Name())
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		syntax, err := parser.ParseFile(positions, file, nil, parser.ParseComments)
		name := fromRoot(file)
		all = append(all, source{name, folderOf(name), strings.HasSuffix(name, "_test.go"), syntax})
		return err
	})
	return all, err
})

// sources returns all Go files of the project, those of its submodules included.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parseAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// skipped leaves out the folders that the go command leaves out.
func skipped(folder string) error {
	hidden := (strings.HasPrefix(folder, ".") && folder != "." && folder != "..") || strings.HasPrefix(folder, "_")
	if hidden || folder == "testdata" {
		return filepath.SkipDir
	}
	return nil
}

func fromRoot(file string) string {
	relative, err := filepath.Rel(root, file)
	if err != nil {
		panic(err) // both are relative paths
	}
	return filepath.ToSlash(relative)
}

// folderOf is the folder of a file, "" for the root.
func folderOf(file string) string {
	return strings.TrimPrefix(path.Dir(file), ".")
}

func (s source) imports() (paths []string) {
	for _, spec := range s.syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser took it
		paths = append(paths, imported)
	}
	return paths
}

// projectImports are the folders of the project that the file imports, "" for the root.
func (s source) projectImports() (folders []string) {
	for _, imported := range s.imports() {
		if folder, ok := projectFolder(imported); ok {
			folders = append(folders, folder)
		}
	}
	return folders
}

// thirdParties are the imports that are neither the project's nor the standard library's.
func (s source) thirdParties() (paths []string) {
	for _, imported := range s.imports() {
		host, _, _ := strings.Cut(imported, "/")
		if _, ours := projectFolder(imported); !ours && strings.Contains(host, ".") {
			paths = append(paths, imported)
		}
	}
	return paths
}

// projectFolder is the folder of an import path, if it is one of the project.
func projectFolder(imported string) (string, bool) {
	folder, ok := strings.CutPrefix(imported+"/", module+"/")
	return strings.TrimSuffix(folder, "/"), ok
}
