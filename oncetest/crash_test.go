package oncetest

import (
	"net/http"
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
