package sqlitestore

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/onceward/onceward"
)

// location is where the database and its write-ahead log lay when the writer first used them. Where somebody deletes or
// replaces one, SQLite goes on with the file that it has open, and what it commits there nobody finds again.
type location struct {
	names  [2]string
	opened [2]os.FileInfo
}

// locate notes where the database at path lies. The log lies beside the file itself, not beside a link to it.
func locate(path string) (location, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return location{}, err
	}
	l := location{names: [...]string{path, path + "-wal"}}
	for i, name := range l.names {
		if l.opened[i], err = os.Stat(name); err != nil {
			return location{}, err
		}
	}
	return l, nil
}

func (l *location) known() bool { return l.names[0] != "" }

// check says that one of the files is not where it was.
func (l *location) check() error {
	for i, name := range l.names {
		if there, err := os.Stat(name); err != nil || !os.SameFile(there, l.opened[i]) {
			return fmt.Errorf("%w: %s was deleted or replaced while the store had it open: nothing is committed to it any more; close the store and open it again",
				onceward.ErrUnavailable, filepath.Base(name))
		}
	}
	return nil
}
