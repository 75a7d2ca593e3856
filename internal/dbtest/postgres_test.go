package dbtest

import (
	"context"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func databaseOf(tb testing.TB, connection string) string {
	tb.Helper()
	return strings.TrimPrefix(must[*url.URL](tb)(url.Parse(connection)).Path, "/")
}

func exec1(tb testing.TB, p *Postgres, database, sql string) string {
	tb.Helper()
	return must[string](tb)(p.Exec(database, sql))
}

func TestDatabaseIsEmptyOnesOwnAndDropped(t *testing.T) {
	t.Parallel()
	server := Shared(t)
	var names sync.Map
	t.Run("tests", func(t *testing.T) {
		for range 8 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				name := databaseOf(t, Database(t))
				names.Store(name, true)
				exec1(t, server, name, "CREATE TABLE only_here (n int)") // fails in a database that two tests share
			})
		}
	})
	names.Range(func(name, _ any) bool {
		if got := exec1(t, server, "postgres", "SELECT count(*) FROM pg_database WHERE datname = '"+name.(string)+"'"); got != "0" {
			t.Errorf("%s is still there", name)
		}
		return true
	})
}

func TestDatabaseIsDroppedWhoeverIsConnected(t *testing.T) {
	t.Parallel()
	server := Shared(t)
	var cmd *exec.Cmd
	t.Run("test", func(t *testing.T) {
		cmd = exec.Command(filepath.Join(server.bin, "psql"), "-X", "-q", "-A", "-t", Database(t), "-c", "SELECT 'here'", "-c", "SELECT pg_sleep(600)")
		stdout := must[io.ReadCloser](t)(cmd.StdoutPipe())
		if err := Spawn(cmd); err != nil {
			t.Fatal(err)
		}
		_ = must[int](t)(stdout.Read(make([]byte, 1))) // connected
	})
	if err := cmd.Wait(); err == nil {
		t.Error("the connection outlived its database")
	}
}

func TestServerRunsUnprivilegedOnLoopback(t *testing.T) {
	t.Parallel()
	server := Shared(t)
	if host := exec1(t, server, "postgres", "SHOW listen_addresses"); host != "127.0.0.1" {
		t.Error("listens on", host)
	}
	if owner := server.account; os.Geteuid() == 0 && (owner == nil || owner.Uid == 0) {
		t.Error("runs as root")
	}
	if most := exec1(t, server, "postgres", "SHOW max_connections"); most != "200" {
		t.Error("max_connections", most)
	}
}

func TestCommittedRowsSurviveKillAndStop(t *testing.T) {
	t.Parallel()
	server := StartPostgres(t, PostgresOptions{Durable: true, Settings: []string{"work_mem=5MB"}})
	if got := exec1(t, server, "postgres", "SELECT current_setting('fsync') || current_setting('work_mem')"); got != "on5MB" {
		t.Error("settings:", got)
	}
	before := server.Addr()
	exec1(t, server, "postgres", "CREATE TABLE kept (n int)")
	for _, end := range []func(){server.Kill, server.Stop, server.Kill} {
		exec1(t, server, "postgres", "INSERT INTO kept VALUES (1)")
		end()
		end() // a second time does no harm
		if _, err := server.Exec("postgres", "SELECT 1"); err == nil {
			t.Fatal("answers after its end")
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if got := exec1(t, server, "postgres", "SELECT count(*) FROM kept"); got != "3" || server.Addr() != before {
		t.Errorf("%s rows at %s, want 3 at %s", got, server.Addr(), before)
	}
}

func TestKillLeavesNoChild(t *testing.T) {
	t.Parallel()
	server := StartPostgres(t, PostgresOptions{})
	children := childrenOf(server.process.Pid)
	if len(children) < 3 {
		t.Fatal("children:", children)
	}
	server.Kill()
	for _, pid := range children {
		if state, _, ok := stat(pid); ok && state != 'Z' {
			t.Errorf("child %d is in state %c", pid, state)
		}
	}
}

func TestPausedServerHangsUntilResumed(t *testing.T) {
	t.Parallel()
	server := StartPostgres(t, PostgresOptions{})
	server.Pause()
	for _, pid := range append(childrenOf(server.process.Pid), server.process.Pid) {
		if state, _, _ := stat(pid); state != 'T' {
			t.Errorf("process %d is in state %c", pid, state)
		}
	}
	answered := make(chan error, 1)
	go func() {
		_, err := server.Exec("postgres", "SELECT 1")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatal("answered while paused:", err)
	case <-time.After(100 * time.Millisecond):
	}
	server.Resume()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	server.Pause()
	server.Stop() // must not wait for a server that stands still
}

func TestStartSaysWhatTheServerSaid(t *testing.T) {
	t.Parallel()
	_, err := NewPostgres(PostgresOptions{Settings: []string{"no_such_setting=1"}})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Fatal(err)
	}
}

func BenchmarkDatabase(b *testing.B) {
	server := Shared(b)
	for b.Loop() {
		name := must[string](b)(server.CreateDatabase())
		if err := server.dropDatabase(name); err != nil {
			b.Fatal(err)
		}
	}
}

// TestServerDiesWithItsProcess starts this test binary again as a process that starts servers and is then killed.
func TestServerDiesWithItsProcess(t *testing.T) {
	t.Parallel()
	temp := must[string](t)(os.MkdirTemp("", "dbtest-"))
	t.Cleanup(func() { _ = os.RemoveAll(temp) }) // not t.TempDir, which other users may not enter
	if err := os.Chmod(temp, 0o711); err != nil {
		t.Fatal(err)
	}
	living := must[string](t)(newHome(temp))
	pids := killedWithServers(t, temp)
	if len(pids) < 4 {
		t.Fatal("processes:", pids)
	}
	running, paused := pids[0], pids[1:]
	waitGone([]int{running}) // by the kernel's signal
	sweepHomes(temp)
	waitGone(paused) // by the sweep
	if left, _ := filepath.Glob(filepath.Join(temp, "*")); len(left) != 1 || left[0] != living {
		t.Error("left after the sweep:", left, "but only this process lives:", living)
	}
}

// killedWithServers returns the process ids of a running server, of a paused one and of its children, after the SIGKILL of
// the process that started them.
func killedWithServers(t *testing.T, temp string) (pids []int) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, must[string](t)(os.Executable()))
	child.Env = append(os.Environ(), childVariable+"=1", "TMPDIR="+temp)
	stdout := must[io.ReadCloser](t)(child.StdoutPipe())
	if err := Spawn(child); err != nil {
		t.Fatal(err)
	}
	pids = readPids(t, stdout)
	_ = child.Process.Kill()
	_ = child.Wait()
	return pids
}
