// Package features keeps the README's tables of what the stores and the adapters do. A column is written by the suite that its
// store or adapter passes, and is compared whenever the suite runs.
package features

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/storetest"
)

// writeEnv has the suites write their columns: "make features".
const writeEnv = "ONCEWARD_FEATURES"

// Store runs the suite of the stores and has the README's table say what it showed, in the column of the store's folder.
func Store[Tx any](t *testing.T, column string, open func(testing.TB) storetest.Harness[Tx], lacks ...storetest.Feature) {
	storetest.Run(t, open, lacks...)
	check(t, "stores", column, rows(storetest.Features(), lacks))
}

// Adapter has the README's table say what the cases of an adapter showed, in the column of its folder.
func Adapter(t *testing.T, column string, lacks ...conform.Feature) {
	check(t, "adapters", column, rows(conform.Features(), lacks))
}

// row is a row of a table, as far as one column knows it.
type row struct {
	name string
	has  bool
}

func rows[F ~string](all, lacks []F) (list []row) {
	for _, feature := range all {
		list = append(list, row{string(feature), !slices.Contains(lacks, feature)})
	}
	return list
}

// check compares the column, or writes it, once all subtests of t have passed.
func check(t *testing.T, table, column string, rows []row) {
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		if err := compare(table, column, rows); err != nil {
			t.Error(err)
		}
	})
}

// writing keeps two suites of one process from writing at once. Processes are kept apart by go test -p 1.
var writing sync.Mutex

func compare(table, column string, rows []row) error {
	writing.Lock()
	defer writing.Unlock()
	file, err := readme()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page, err := parse(string(text), table)
	switch {
	case err != nil:
		return err
	case page.says(column, rows):
		return nil
	case os.Getenv(writeEnv) != "write":
		return errors.New("the README's table of " + table + " does not say what " + column + " does: run make features")
	}
	page.set(column, rows)
	return os.WriteFile(file, []byte(page.String()), 0o644)
}

// readme is the project's, from a folder within.
func readme() (string, error) {
	folder, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(folder, "go.work")); missing == nil {
			return filepath.Join(folder, "README.md"), nil
		}
		if folder == filepath.Dir(folder) {
			err = errors.New("no folder above has a go.work")
		}
		folder = filepath.Dir(folder)
	}
	return "", err
}
