// Package migration reads the numbered SQL files that a store brings along.
package migration

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Migration is one step of a store's schema, from a file NNN_name.sql.
type Migration struct {
	Number int // 1 for the first; there are no gaps
	Name   string
	SQL    string
}

// Whole is m for a tool that runs SQL: with the table of what was applied, where m is the first, and the note in it. Note has
// m's number and its quoted name to be filled in.
func (m Migration) Whole(table, note string) string {
	sql := strings.TrimRight(m.SQL, "; \n") + ";\n" + fmt.Sprintf(note, m.Number, "'"+m.Name+"'") + ";\n" // a name has no quotes
	if m.Number == 1 {
		sql = table + ";\n\n" + sql
	}
	return sql
}

var fileName = regexp.MustCompile(`^([0-9]{3})_([a-z0-9_]+)\.sql$`)

// Read reads dir's migrations in their order. A name of another form, a number that is missing or there twice, and an
// empty file are errors: each would leave some databases without a step that others have.
func Read(fsys fs.FS, dir string) ([]Migration, error) {
	entries, err := fs.ReadDir(fsys, dir) // sorted by name, thus by number
	if err != nil {
		return nil, fmt.Errorf("migration: %w", err)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("migration: no files in %s", dir)
	}
	all := make([]Migration, 0, len(entries))
	for _, entry := range entries {
		m, err := read(fsys, dir, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("migration: %s: %w", entry.Name(), err)
		}
		if want := len(all) + 1; m.Number != want {
			return nil, fmt.Errorf("migration: %s: number %d is missing or there twice", entry.Name(), min(m.Number, want))
		}
		all = append(all, m)
	}
	return all, nil
}

func read(fsys fs.FS, dir, name string) (m Migration, _ error) {
	parts := fileName.FindStringSubmatch(name)
	if parts == nil {
		return m, errors.New("the name is not NNN_name.sql")
	}
	text, err := fs.ReadFile(fsys, path.Join(dir, name))
	if err != nil {
		return m, err
	}
	if strings.TrimSpace(string(text)) == "" {
		return m, errors.New("the file is empty")
	}
	m.Number, _ = strconv.Atoi(parts[1]) // three digits
	m.Name, m.SQL = parts[2], string(text)
	return m, nil
}

// Pending returns those of all that a database with the applied numbers still lacks. A number that all does not know
// was applied by a newer version of the program: an error, since what it did to the schema is not known here.
func Pending(all []Migration, applied []int) ([]Migration, error) {
	done := make(map[int]bool, len(applied))
	for _, number := range applied {
		if number < 1 || number > len(all) {
			return nil, fmt.Errorf("migration: the database has number %d, this program knows 1 to %d: it is older than the schema", number, len(all))
		}
		done[number] = true
	}
	var pending []Migration
	for _, m := range all {
		switch {
		case !done[m.Number]:
			pending = append(pending, m)
		case len(pending) > 0:
			return nil, fmt.Errorf("migration: the database has number %d, but not %d before it", m.Number, pending[0].Number)
		}
	}
	return pending, nil
}
