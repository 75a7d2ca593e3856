package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/dbtest"
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

// What print prints is the schema that up makes, so that a tool of one's own can make it.
func TestMigratePrint(t *testing.T) {
	t.Parallel()
	_, sqlite, _ := tool(t, "migrate", "print", "--database", "x.db")
	if !strings.Contains(sqlite, "CREATE TABLE onceward_record (") || !strings.Contains(sqlite, "STRICT") {
		t.Errorf("for SQLite: %s", sqlite)
	}
	code, postgres, log := tool(t, "migrate", "print", "--database", "postgres://")
	if code != 0 || log != "" {
		t.Fatalf("exit code %d, %q", code, log)
	}
	conn, err := pgx.Connect(t.Context(), dbtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), postgres, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%v in:\n%s", err, postgres)
	}
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM onceward_record").Scan(&n); err != nil {
		t.Error(err)
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
