package shop

import (
	"fmt"
	"strings"
)

// Kind of a database.
type Kind string

// The kinds.
const (
	KindPostgres Kind = "postgres"
	KindMySQL    Kind = "mysql" // MariaDB
	KindSQLite   Kind = "sqlite"
)

// KindOf tells what a database's name stands for: a postgres:// or postgresql:// URL, a
// mysql:// URL, or the path of a SQLite file.
func KindOf(database string) (Kind, error) {
	scheme, _, isURL := strings.Cut(database, "://")
	switch {
	case database == "":
		return "", fmt.Errorf("the database has no name: give the path of a file, or a postgres:// or mysql:// URL")
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return KindPostgres, nil
	case isURL && scheme == "mysql":
		return KindMySQL, nil
	case isURL || strings.HasPrefix(database, "file:"):
		return "", fmt.Errorf("a database of the form %q is not known: give the path of a file, or a postgres:// or mysql:// URL", strings.TrimSuffix(scheme, ":")+":…")
	}
	return KindSQLite, nil
}
