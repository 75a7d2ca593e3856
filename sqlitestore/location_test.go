package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// TestFilesDeletedOrReplaced: SQLite would go on and commit to a file that nobody finds again.
func TestFilesDeletedOrReplaced(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(path string) error{
		"the file is deleted":  os.Remove,
		"the log is deleted":   func(path string) error { return os.Remove(path + "-wal") },
		"the file is replaced": replace,
		"the log is replaced":  func(path string) error { return replace(path + "-wal") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, path := fresh(t, sqlitestore.Options{})
			engine := engineOn(t, store, onceward.Options{})
			if _, err := engine.Do(t.Context(), place.For(caller, "before", nil), writes("before")); err != nil {
				t.Fatal(err)
			}
			if err := away(path); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, err := engine.Do(t.Context(), place.For(caller, "after", nil), writes("after"))
				wantError(t, err, onceward.ErrUnavailable)
				wantError(t, err, onceward.ErrNotCommitted)
			}
		})
	}
}

// TestFileMovedAndBack: what is where it was is used again.
func TestFileMovedAndBack(t *testing.T) {
	t.Parallel()
	store, path := fresh(t, sqlitestore.Options{})
	link := filepath.Join(filepath.Dir(path), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	linked := engineOn(t, open(t, link, sqlitestore.Options{}), onceward.Options{})
	engine := engineOn(t, store, onceward.Options{})
	for _, step := range []struct {
		from, to string
		want     error
	}{{path, path + ".away", onceward.ErrUnavailable}, {path + ".away", path, nil}} {
		if err := os.Rename(step.from, step.to); err != nil {
			t.Fatal(err)
		}
		for key, engine := range map[string]*onceward.Engine[sqlstore.Tx]{"direct": engine, "linked": linked} {
			_, err := engine.Do(t.Context(), place.For(caller, key, nil), writes(key))
			wantError(t, err, step.want)
		}
	}
	if effects(t, path, "direct") != 1 || effects(t, path, "linked") != 1 {
		t.Error("the effects are not in the file")
	}
}

// replace puts a copy in a file's place, as who restores a backup does.
func replace(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".copy", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".copy", path)
}

func wantError(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("the error is %v, want %v", got, want)
	}
}

// SQLite has one word for all that keeps a file from being opened.
func TestOpenSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel()
	folder := tempDir(t)
	plain := filepath.Join(folder, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		filepath.Join(folder, "nowhere", "x.db"): "there is no directory " + filepath.Join(folder, "nowhere"),
		filepath.Join(plain, "x.db"):             plain + " is no directory",
		folder:                                   "it is a directory",
	} {
		store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
		if err == nil {
			err = store.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "open "+path+": "+says) || !errors.Is(err, onceward.ErrUnavailable) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
