package migration

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func files(names ...string) fstest.MapFS {
	fsys := fstest.MapFS{"sql": {Mode: fs.ModeDir}}
	for _, name := range names {
		fsys["sql/"+name] = &fstest.MapFile{Data: []byte("-- " + name)}
	}
	return fsys
}

func TestReadGivesTheMigrationsInOrder(t *testing.T) {
	t.Parallel()
	all, err := Read(files("002_index.sql", "001_record.sql"), "sql")
	if err != nil {
		t.Fatal(err)
	}
	want := []Migration{{1, "record", "-- 001_record.sql"}, {2, "index", "-- 002_index.sql"}}
	if len(all) != 2 || all[0] != want[0] || all[1] != want[1] {
		t.Errorf("read %+v, want %+v", all, want)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fsys fstest.MapFS
		says string
	}{
		"a gap":               {files("001_a.sql", "003_c.sql"), "number 2 is missing"},
		"a late start":        {files("002_b.sql"), "number 1 is missing"},
		"a number twice":      {files("001_a.sql", "001_b.sql"), "number 1 is missing or there twice"},
		"a number 0":          {files("000_a.sql"), "number 0"},
		"another name":        {files("001_a.sql", "README.md"), "not NNN_name.sql"},
		"too few digits":      {files("1_a.sql"), "not NNN_name.sql"},
		"no files":            {files(), "no files"},
		"an empty file":       {fstest.MapFS{"sql/001_a.sql": {Data: []byte(" \n")}}, "is empty"},
		"no such directory":   {fstest.MapFS{}, "sql"},
		"a directory in here": {fstest.MapFS{"sql/001_a.sql/x": {}}, "001_a.sql"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Read(test.fsys, "sql"); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got error %v, want one that says %q", err, test.says)
			}
		})
	}
}

func TestPending(t *testing.T) {
	t.Parallel()
	all, err := Read(files("001_a.sql", "002_b.sql", "003_c.sql"), "sql")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		applied []int
		first   int // the first pending number; 0 for none
		says    string
	}{
		"a new database":   {nil, 1, ""},
		"in the middle":    {[]int{1, 2}, 3, ""},
		"up to date":       {[]int{2, 3, 1}, 0, ""},
		"a newer database": {[]int{1, 2, 3, 4}, 0, "older than the schema"},
		"a hole":           {[]int{1, 3}, 0, "not 2 before it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pending, err := Pending(all, test.applied)
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got error %v, want one that says %q", err, test.says)
				}
				return
			}
			want := 0
			if test.first > 0 {
				want = len(all) - test.first + 1
			}
			if err != nil || len(pending) != want || want > 0 && pending[0].Number != test.first {
				t.Errorf("got %+v and %v, want %d from number %d", pending, err, want, test.first)
			}
		})
	}
}
