package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/dbtest"
)

// asProgram makes this test binary the program itself, so that what the tests start is a real process, and under the race
// detector where they are.
const asProgram = "ONCEWARD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	dbtest.Main(m)
}

// program is a command that will run the program.
func program(ctx context.Context, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, os.Args[0], arguments...)
	command.Env = append(os.Environ(), asProgram+"=1")
	return command
}

// tool runs the program to its end.
func tool(t *testing.T, arguments ...string) (code int, out, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var outText, logText bytes.Buffer
	command := program(ctx, arguments...)
	command.Stdout, command.Stderr = &outText, &logText
	if err := command.Run(); err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), outText.String(), logText.String()
}

// wantFailure checks that a failure is one clear line without a secret.
func wantFailure(t *testing.T, want int, fault string, arguments ...string) {
	t.Helper()
	code, out, log := tool(t, arguments...)
	if code != want || out != "" {
		t.Errorf("%q: exit code %d, want %d; it printed %q", arguments, code, want, out)
	}
	if !strings.HasPrefix(log, "onceward: ") || strings.Count(log, "\n") != 1 || !strings.Contains(log, fault) {
		t.Errorf("%q: got %q, want one line with %q", arguments, log, fault)
	}
	if strings.Contains(log, "secret") {
		t.Errorf("%q: the password is told: %q", arguments, log)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	wantFailure(t, exitUsage, "demo")
	wantFailure(t, exitUsage, "--nope", "demo", "--nope")
	wantFailure(t, exitUsage, "--database", "migrate", "up")
	for _, arguments := range [][]string{{"--help"}, {"demo", "--help"}, {"migrate", "--help"}} {
		if code, out, log := tool(t, arguments...); code != 0 || !strings.Contains(out, "Usage: onceward") || log != "" {
			t.Errorf("%q: exit code %d, %q, %q", arguments, code, out, log)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if code, out, log := tool(t, "version"); code != 0 || !strings.HasPrefix(out, "onceward ") || strings.Count(out, "\n") != 1 || log != "" {
		t.Errorf("exit code %d, %q, %q", code, out, log)
	}
}
