package proofs

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/dbtest"
)

func TestMain(m *testing.M) {
	dbtest.Main(m, func() {
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
	})
}

// The demo's callers: two of one tenant, one of another.
const (
	alice = "demo-acme-alice"
	bob   = "demo-acme-bob"
	carol = "demo-globex-carol"
)

const (
	// patience bounds every wait of a test; it is never reached unless something is broken.
	patience = 30 * time.Second
	// pollEvery paces the questions to which nobody sends a signal: a database's state, a server that is away.
	pollEvery = 3 * time.Millisecond
)

// built is the demo binary, which all tests share.
var built struct {
	sync.Mutex
	dir, path string
	err       error
}

// binary builds the demo, once. It is built without the race detector, whose part the packages' own tests play.
func binary(t testing.TB) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" && built.err == nil {
		built.dir, built.err = os.MkdirTemp("", "onceward-proofs-")
		built.path = filepath.Join(built.dir, "onceward")
		if built.err == nil {
			var printed []byte
			printed, built.err = exec.Command("go", "build", "-buildvcs=false", "-o", built.path, "github.com/onceward/onceward/cmd/onceward").CombinedOutput()
			t.Logf("go build: %s", printed)
		}
	}
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// must lets a value and its error be one expression: must(f())(t).
func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// until asks again and again until the answer is yes.
func until(t testing.TB, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !yes(); <-time.After(pollEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come to pass within %v: %s", patience, what)
		}
	}
}

// await receives what a test waits for.
func await[T any](t testing.TB, what string, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		t.Fatalf("it did not come within %v: %s", patience, what)
	}
	return value
}
