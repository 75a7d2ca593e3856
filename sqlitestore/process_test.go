package sqlitestore_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

const childVariable = "SQLITESTORE_CHILD"

// children are what the test binary does as a process of its own: they get the path of the file.
var children = map[string]func(ctx context.Context, path string, out io.Writer) error{
	"write":   childWrites,
	"share":   childShares,
	"migrate": childMigrates,
}

func TestMain(m *testing.M) {
	name, path, ok := strings.Cut(os.Getenv(childVariable), " ")
	if !ok {
		dbtest.Main(m)
		return
	}
	if err := children[name](context.Background(), path, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// spawn starts a child; what it prints can be read from the result.
func spawn(t *testing.T, name, path string) (*exec.Cmd, io.Reader) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childVariable+"="+name+" "+path)
	cmd.Stderr = &bytes.Buffer{}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = dbtest.Spawn(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out
}

func childEngine(ctx context.Context, path string) (*sqlitestore.Store, *onceward.Engine[sqlstore.Tx], error) {
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{BusyTimeout: patience})
	if err != nil {
		return nil, nil, err
	}
	engine, err := onceward.New(store, onceward.Options{MemoryBytesMax: -1})
	return store, engine, err
}

// childWrites sends new commands from 8 callers without pause and prints each key that was acknowledged.
func childWrites(ctx context.Context, path string, out io.Writer) error {
	store, engine, err := childEngine(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%d-%d-%d", os.Getpid(), i, n)
				if _, err := engine.Do(ctx, place.For(caller, key, nil), writes(key)); err != nil {
					fmt.Fprintln(os.Stderr, err)
					return
				}
				fmt.Fprintln(out, key)
			}
		})
	}
	callers.Wait()
	return errors.New("the writers ended")
}

// TestKilledWhileWriting: a process that writes without pause is killed at any moment. There are as many effects as
// records, and all that was acknowledged.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	path := file(t)
	acknowledged := map[string]bool{}
	for round := range 4 {
		cmd, out := spawn(t, "write", path)
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			acknowledged[lines.Text()] = true
			if n == 20+37*round {
				_ = cmd.Process.Kill() // and read on: what it has printed was acknowledged
			}
		}
		_ = cmd.Wait()
	}
	if len(acknowledged) < 4*20 {
		t.Fatalf("only %d were acknowledged", len(acknowledged))
	}
	store := open(t, path, sqlitestore.Options{})
	engine := engineOn(t, store, onceward.Options{})
	for key := range acknowledged {
		result, err := engine.Do(t.Context(), place.For(caller, key, nil), writes(key))
		if err != nil || !result.Replayed || string(result.Outcome.Data) != key {
			t.Errorf("%s was acknowledged; the retry: %+v, %v", key, result, err)
		}
	}
	all, distinct := count(t, path, "SELECT count(*) FROM effect"), count(t, path, "SELECT count(DISTINCT key) FROM effect")
	if all != distinct || all != records(t, path) || all < len(acknowledged) {
		t.Errorf("%d effects under %d keys, %d records, %d acknowledged", all, distinct, records(t, path), len(acknowledged))
	}
	if count(t, path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") != 0 {
		t.Error("the file is damaged")
	}
	t.Logf("%d acknowledged, %d committed", len(acknowledged), all)
}

const (
	sharedKeys    = 30
	sharedCallers = 4
)

// childShares has 4 callers send the same commands and prints what each was answered.
func childShares(ctx context.Context, path string, out io.Writer) error {
	store, engine, err := childEngine(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	var callers sync.WaitGroup
	failures := make(chan error, sharedCallers)
	for range sharedCallers {
		callers.Go(func() {
			for k := range sharedKeys {
				key := strconv.Itoa(k)
				answer, err := insist(ctx, engine, key)
				if err != nil {
					failures <- err
					return
				}
				fmt.Fprintln(out, key, answer)
			}
		})
	}
	callers.Wait()
	close(failures)
	return <-failures
}

// insist comes again as long as it is told to.
func insist(ctx context.Context, engine *onceward.Engine[sqlstore.Tx], key string) (string, error) {
	for range 1000 {
		result, err := engine.Do(ctx, waits.For(caller, key, nil), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
			return onceward.Outcome{Data: fmt.Appendf(nil, "%d-%d", os.Getpid(), time.Now().UnixNano())}, write(ctx, tx, key)
		})
		if !errors.Is(err, onceward.ErrUnavailable) && !errors.Is(err, onceward.ErrInFlight) {
			return string(result.Outcome.Data), err
		}
	}
	return "", errors.New("it was told to come again a thousand times")
}

// TestTwoProcessesOnOneFile: slow at most, and never a double.
func TestTwoProcessesOnOneFile(t *testing.T) {
	t.Parallel()
	path := file(t)
	first, firstOut := spawn(t, "share", path)
	second, secondOut := spawn(t, "share", path)
	answers := map[string]string{}
	for _, out := range []io.Reader{firstOut, secondOut} {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			key, answer, _ := strings.Cut(lines.Text(), " ")
			if answers[key] != "" && answers[key] != answer {
				t.Errorf("key %s was answered %s and %s", key, answers[key], answer)
			}
			answers[key] = answer
		}
	}
	for _, cmd := range []*exec.Cmd{first, second} {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, cmd.Stderr)
		}
	}
	all, distinct := count(t, path, "SELECT count(*) FROM effect"), count(t, path, "SELECT count(DISTINCT key) FROM effect")
	if len(answers) != sharedKeys || all != sharedKeys || distinct != sharedKeys || records(t, path) != sharedKeys {
		t.Errorf("%d keys answered, %d effects under %d keys, %d records; want %d of each", len(answers), all, distinct, records(t, path), sharedKeys)
	}
}

func childMigrates(ctx context.Context, path string, out io.Writer) error {
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{BusyTimeout: patience})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	return store.Migrate(ctx)
}

// TestMigrationsAtOnce: several processes open and migrate a file that is not there yet.
func TestMigrationsAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(tempDir(t), "new.db")
	var started []*exec.Cmd
	for range 6 {
		cmd, _ := spawn(t, "migrate", path)
		started = append(started, cmd)
	}
	for _, cmd := range started {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, cmd.Stderr)
		}
	}
	store := open(t, path, sqlitestore.Options{})
	steps, err := store.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if step.AppliedAt.IsZero() {
			t.Errorf("step %d was not applied", step.Number)
		}
	}
	if got := count(t, path, "SELECT count(*) FROM onceward_migration"); got != len(steps) {
		t.Errorf("%d steps are noted, want %d", got, len(steps))
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(tempDir(t), "new.db")
	store := open(t, path, sqlitestore.Options{})
	steps, err := store.Status(t.Context())
	if err != nil || len(steps) == 0 || !steps[0].AppliedAt.IsZero() {
		t.Fatalf("Status of a new file: %+v, %v", steps, err)
	}
	for range 2 {
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, step := range sqlitestore.Migrations() {
		if step.Number != i+1 || !strings.Contains(step.SQL, "CREATE") {
			t.Errorf("step %d: %+v", i+1, step)
		}
	}
	outside(t, path, "INSERT INTO onceward_migration VALUES (99, 'future', 0)")
	if err := store.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("a file that is ahead: %v", err)
	}
}
