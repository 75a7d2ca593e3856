package oncetest

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

func TestStageIsChosenByTheDatabasesName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"postgres://u:secret@127.0.0.1/x?sslmode=disable": "postgres://u:secret@127.0.0.1:",
		"postgresql://u@[::1]:5433/x":                     "postgresql://u@127.0.0.1:",
		"mysql://u@127.0.0.1/x":                           "mysql://u@127.0.0.1:",
		"dir/shop.db":                                     "dir/shop.db",
		"":                                                "",
		":memory:":                                        "",
		"file:x.db":                                       "",
		"redis://127.0.0.1":                               "",
		"postgres:///x?host=/run&password=secret": "",
	} {
		stage, err := newStage(name)
		if (err == nil) != (want != "") {
			t.Errorf("%q: %v", name, err)
		}
		if err != nil {
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("an error has the password: %v", err)
			}
			continue
		}
		if !strings.HasPrefix(stage.database(), want) {
			t.Errorf("%q: the process opens %q", name, stage.database())
		}
		stage.close()
	}
}

// refused is a test whose end by Fatal is what another waits for.
type refused struct {
	testing.TB
	with []string
}

func (r *refused) Fatal(args ...any) {
	r.with = append(r.with, fmt.Sprint(args...))
	runtime.Goexit()
}

// crash calls Crash where it must end by Fatal, and returns with what.
func crash(t *testing.T, plan Plan) string {
	r := &refused{TB: t}
	over := make(chan struct{})
	go func() {
		defer close(over)
		Crash(r, plan)
	}()
	<-over
	return fmt.Sprint(r.with)
}

func TestCrashIsRefused(t *testing.T) {
	t.Parallel()
	whole := Plan{
		Database: func() string { return ":memory:" },
		Open:     func(string) (http.Handler, error) { return nil, nil },
		Request:  func(Run) *http.Request { return nil },
		Effects:  func(string) (int, error) { return 0, nil },
	}
	for _, c := range []struct {
		plan Plan
		want string
	}{
		{Plan{}, "a Plan needs"},
		{whole, "nor the path of an SQLite file"},
		{whole, "called once in a test"},
	} {
		if got := crash(t, c.plan); !strings.Contains(got, c.want) {
			t.Errorf("Crash ends with %q, want %q", got, c.want)
		}
	}
	t.Run("a subtest may call it", func(t *testing.T) {
		if got := crash(t, whole); !strings.Contains(got, "nor the path") {
			t.Errorf("Crash ends with %q", got)
		}
	})
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	made, replayed := answer{status: 201}, answer{status: 201, header: http.Header{"Idempotent-Replayed": {"true"}}}
	for name, c := range map[string]struct {
		row
		ok bool
	}{
		"once":                          {row{retry: made, third: replayed, effects: 1}, true},
		"lost":                          {row{retry: made, third: replayed, effects: 0}, false},
		"twice":                         {row{retry: made, third: replayed, effects: 2}, false},
		"a retry that is refused":       {row{retry: answer{status: 409}, third: answer{status: 409}, effects: 1}, false},
		"a retry without an answer":     {row{effects: 1}, false},
		"a third answer that is not so": {row{retry: made, third: answer{status: 200}, effects: 1}, false},
	} {
		if c.ok != c.row.ok() || strings.Contains(matrix([]row{c.row}), "FAIL") == c.ok {
			t.Errorf("%s: ok is %t\n%s", name, c.row.ok(), matrix([]row{c.row}))
		}
	}
}
