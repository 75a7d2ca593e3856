package features

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const example = `Before.

<!-- stores: written by make features -->
| | ` + "`a` | `b`" + ` |
|---|---|---|
| walks | yes | – |
| swims | – | yes |
<!-- stores: end -->

After.
`

func parsed(t *testing.T, text string) *page {
	t.Helper()
	p, err := parse(text, "stores")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTableIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	if got := parsed(t, example).String(); got != example {
		t.Errorf("it became %s", got)
	}
}

func TestTableIsCompared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		column string
		rows   []row
		want   bool
	}{
		"as it is":         {"b", []row{{"walks", false}, {"swims", true}}, true},
		"another cell":     {"b", []row{{"walks", true}, {"swims", true}}, false},
		"another order":    {"b", []row{{"swims", true}, {"walks", false}}, false},
		"a row is missing": {"b", []row{{"walks", false}, {"swims", true}, {"flies", true}}, false},
		"a row is stale":   {"b", []row{{"walks", false}}, false},
		"a row is renamed": {"b", []row{{"walks", false}, {"floats", true}}, false},
		"no such column":   {"c", []row{{"walks", false}, {"swims", true}}, false},
	} {
		p := parsed(t, example)
		if got := p.says(c.column, c.rows); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		p.set(c.column, c.rows)
		if again := parsed(t, p.String()); !again.says(c.column, c.rows) {
			t.Errorf("%s: after it was written: %s", name, p)
		}
	}
}

func TestColumnOfAnotherSuiteIsKeptOrUnknown(t *testing.T) {
	t.Parallel()
	p := parsed(t, example)
	p.set("c", []row{{"swims", true}, {"flies", false}})
	want := "| | `a` | `b` | `c` |\n|---|---|---|---|\n| swims | – | yes | yes |\n| flies | ? | ? | – |\n"
	if !strings.Contains(p.String(), want) {
		t.Errorf("it became %s", p)
	}
}

func TestTableBeginsEmpty(t *testing.T) {
	t.Parallel()
	p := parsed(t, "<!-- stores: written by make features -->\n<!-- stores: end -->\n")
	p.set("a", []row{{"walks", true}})
	if !parsed(t, p.String()).says("a", []row{{"walks", true}}) {
		t.Errorf("it became %s", p)
	}
	if _, err := parse("no table here", "stores"); err == nil {
		t.Error("a page without markers was read")
	}
}

// columnsOf are the columns that the suites of the project write.
var suiteCall = regexp.MustCompile(`\b(features\.Store|features\.Adapter|conformtest\.Run|conformtest\.RunCalls)\(t, "(\w+)"`)

// TestTablesHaveEachSuite fails on a suite without a column, on a column without a suite, and on a store that is tested
// past the table. What a column says is compared where its suite runs.
func TestTablesHaveEachSuite(t *testing.T) {
	t.Parallel()
	file, err := readme()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string][]string{}
	err = filepath.WalkDir(filepath.Dir(file), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") || filepath.Base(path) == "features_test.go" {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range suiteCall.FindAllStringSubmatch(string(source), -1) {
			table := "adapters"
			if match[1] == "features.Store" {
				table = "stores"
			}
			written[table] = append(written[table], match[2])
		}
		if strings.Contains(string(source), "storetest.Run(t") {
			t.Errorf("%s: have the suite run by features.Store, and the README has its table", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"stores", "adapters"} {
		p, err := parse(string(text), table)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(written[table])
		if got := slices.Sorted(slices.Values(p.columns)); !slices.Equal(got, written[table]) {
			t.Errorf("the README's table of %s has the columns %q, the suites are %q: run make features", table, got, written[table])
		}
	}
}
