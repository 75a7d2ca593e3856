package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// walBytesMax is the size in bytes to which the write-ahead log's file is cut when it begins anew.
const walBytesMax = 16 << 20

// connector connects to the file at path. Each connection waits for locks by itself, enforces foreign keys, and refuses
// what corrupts a file (SQLITE_DBCONFIG_DEFENSIVE).
func connector(path string, o Options, more ...string) (driver.Connector, error) {
	name, err := source(path, o, more...)
	if err != nil {
		return nil, err
	}
	return sqlite.NewConnector(name)
}

// Source is the data source name for a *sql.DB of the application's own on the file at path, which must exist:
// sql.Open("sqlite", source). It has the settings of the store's connections, so that a commit there is as durable; its
// transactions begin with the lock for writing, for which they wait up to 5 s.
func Source(path string) (string, error) {
	return source(path, Options{}.withDefaults(), "mode=rw", "_txlock=immediate")
}

func source(path string, o Options, more ...string) (string, error) {
	name, err := fileURI(path)
	if err != nil {
		return "", err
	}
	parameters := append([]string{
		fmt.Sprintf("_busy_timeout=%d", o.BusyTimeout.Milliseconds()),
		"_defensive=1", "_error_rc=1", "_foreign_keys=1", "_synchronous=FULL", "_time_format=sqlite",
		"_pragma=fullfsync(1)", "_pragma=checkpoint_fullfsync(1)",
		fmt.Sprintf("_pragma=journal_size_limit(%d)", walBytesMax),
	}, more...)
	return name + "?" + strings.Join(parameters, "&"), nil
}

// fileURI names path so that no character of it means anything else.
func fileURI(path string) (string, error) {
	if path == "" || path == ":memory:" || strings.HasPrefix(path, "file:") {
		return "", errors.New("sqlitestore: Open needs the path of a file: neither a URI nor a database in memory, which the connections would not share")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlitestore: %w", err)
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath(), nil
}

// enterWAL switches the file to a write-ahead log, which it stays in. SQLite does not wait for its locks there, so it is
// asked again until limit has passed.
func enterWAL(ctx context.Context, conn *sql.Conn, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		var mode string
		err := conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode != "wal":
			return fmt.Errorf("sqlitestore: the file stays in journal mode %q: it must be on a local disk, and writable, for WAL", mode)
		case codeOf(err) != lib.SQLITE_BUSY || time.Now().After(deadline):
			return explain(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
