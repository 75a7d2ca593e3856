package dbtest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPgBouncerSharesAConnectionAndIsStartedAgain(t *testing.T) {
	t.Parallel()
	server := Shared(t)
	direct := Database(t)
	bouncer := StartPgBouncer(t, server.Addr(), PgBouncerOptions{ServersMax: 1})
	ask := func(query string) (string, error) {
		text, err := run(exec.Command(filepath.Join(server.bin, "psql"), "-X", "-q", "-A", "-t", "-d", bouncer.URL(direct), "-c", query))
		return strings.TrimSpace(text), err
	}
	const who = "SELECT current_database() || pg_backend_pid()"
	first := must[string](t)(ask(who))
	if second := must[string](t)(ask(who)); second != first || !strings.HasPrefix(first, databaseOf(t, direct)) {
		t.Errorf("two clients were answered by %s and %s, want one process", first, second)
	}
	addr := bouncer.Addr()
	bouncer.Kill()
	if _, err := ask(who); err == nil {
		t.Error("a killed pooler answered")
	}
	if err := bouncer.Start(); err != nil {
		t.Fatal(err)
	}
	if third := must[string](t)(ask(who)); third == first || bouncer.Addr() != addr {
		t.Errorf("after the start %s answers at %s", third, bouncer.Addr())
	}
}
