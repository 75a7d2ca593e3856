package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/mysqlstore"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	for kind, database := range map[string]string{"postgres": dbtest.Database(t), "sqlite": filepath.Join(t.TempDir(), "x.db")} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == "sqlite" {
				wantFailure(t, exitFailed, "no such file", "migrate", "status", "--database", database)
			} else {
				wantStatus(t, "pending", "migrate", "status", "--database", database)
			}
			wantStatus(t, "applied", "migrate", "up", "--database", database)
			wantStatus(t, "applied", "migrate", "up", "--database", database) // once more changes nothing
			wantStatus(t, "applied", "migrate", "status", "--database", database)
		})
	}
}

func wantStatus(t *testing.T, state string, arguments ...string) {
	t.Helper()
	code, out, log := tool(t, arguments...)
	if code != 0 || log != "" || !strings.HasPrefix(out, "001  record  "+state) {
		t.Errorf("%q: exit code %d, %q, %q", arguments, code, out, log)
	}
}

// What print prints is the schema that up makes, so that a tool of one's own can make it: up and status find it.
func TestMigratePrint(t *testing.T) {
	t.Parallel()
	file, postgres, mariadb := filepath.Join(t.TempDir(), "x.db"), dbtest.Database(t), dbtest.MariaDBDatabase(t)
	config, err := mysqlstore.ParseURL(mariadb)
	if err != nil {
		t.Fatal(err)
	}
	config.MultiStatements = true
	for _, to := range []struct{ kind, driver, source, database string }{
		{"x.db", "sqlite", file, file},
		{"postgres://", "pgx", postgres, postgres},
		{"mysql://", "mysql", config.FormatDSN(), mariadb},
	} {
		t.Run(to.driver, func(t *testing.T) {
			t.Parallel()
			code, script, log := tool(t, "migrate", "print", "--database", to.kind)
			if code != 0 || log != "" {
				t.Fatalf("exit code %d, %q", code, log)
			}
			db, err := sql.Open(to.driver, to.source)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.ExecContext(t.Context(), script); err != nil {
				t.Fatalf("%v in:\n%s", err, script)
			}
			wantStatus(t, "applied", "migrate", "status", "--database", to.database)
			wantStatus(t, "applied", "migrate", "up", "--database", to.database)
		})
	}
}

func TestMigrateFailures(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"up", "status"} {
		wantFailure(t, exitFailed, "connection refused", "migrate", verb, "--database", "postgres://u:secret@127.0.0.1:1/x")
		wantFailure(t, exitFailed, "connection refused", "migrate", verb, "--database", "mysql://u:secret@127.0.0.1:1/d")
		wantFailure(t, exitFailed, "not known", "migrate", verb, "--database", "oracle://u:secret@h/d")
	}
}
