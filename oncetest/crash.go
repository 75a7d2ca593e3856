package oncetest

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
)

// PointsMax bounds the points at which one request is killed. A request that passes more fails the test.
const PointsMax = 400

// Plan is what Crash needs to know of a handler. All fields are required. No function may have been called, and nothing
// that costs much may be done, before Crash is: the process that is killed runs the same test up to there.
type Plan struct {
	// Database returns the database that the effects are in, which is the test's alone: a URL postgres://… or mysql://…, or
	// the path of an SQLite file, which need not exist. It is called once.
	Database func() string
	// Open makes the handler on a database, with whatever tables it needs, as the service does when it starts. It is called
	// in the process that is killed, with Database's result, or a URL that leads to it.
	Open func(database string) (http.Handler, error)
	// Request returns the request, of which only method, path, query, header and body count. Each run is another intent, and
	// the request must say so by Run.Key. It is sent again as it is.
	Request func(run Run) *http.Request
	// Effects counts all effects there are, those of former runs included. A run must add one.
	Effects func(database string) (int, error)
}

func (p Plan) validate() error {
	if p.Database == nil || p.Open == nil || p.Request == nil || p.Effects == nil {
		return errors.New("oncetest: a Plan needs Database, Open, Request and Effects")
	}
	return nil
}

// Run is one intent, from its first request to its last retry.
type Run struct {
	// Key is new in each run: 1 to 64 letters, digits and hyphens.
	Key string
	// Send sends a request that is needed before, while nobody is killed, such as the order that is to be cancelled. Its
	// answer, whose body need not be closed, has a status of 2xx; all else ends the test.
	Send func(*http.Request) *http.Response
}

// running are the tests that have called Crash. The process that is killed could not tell two calls of one test apart.
var running sync.Map

// Crash kills the handler at every point of a request (see the package) and fails the test where the retry is not answered with
// 2xx, where a third request is answered with another status, or where the run has not had one effect. It logs the matrix.
// Answers with Retry-After are asked for again for up to 30 s.
//
// Call it once in a test or subtest. Each point takes one start of the process, which runs TestMain and the test up to here.
func Crash(tb testing.TB, plan Plan) {
	tb.Helper()
	if err := plan.validate(); err != nil {
		tb.Fatal(err)
	}
	switch victim, is := os.LookupEnv(childVariable); {
	case is && victim == tb.Name():
		serve(plan) // does not return
	case is:
		tb.Skip("oncetest: another test's process")
	}
	if _, again := running.LoadOrStore(tb.Name(), true); again {
		tb.Fatal("oncetest: Crash is called once in a test; a second call needs a subtest")
	}
	tb.Cleanup(func() { running.Delete(tb.Name()) })
	rows, err := explore(tb.Name(), plan)
	tb.Logf("%d points at which the process was killed:\n%s", len(rows), matrix(rows))
	for _, r := range rows {
		if !r.ok() {
			tb.Errorf("killed %s: the retry was answered %s, the third request %s, and there are %d effects, want 1",
				r.point, r.retry, r.third, r.effects)
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// explore makes a run for each point, and one whose answer is lost.
func explore(name string, plan Plan) (rows []row, err error) {
	c := &campaign{plan: plan, name: name, direct: plan.Database()}
	if c.stage, err = newStage(c.direct); err != nil {
		return nil, err
	}
	defer func() {
		c.process.kill()
		c.stage.close()
	}()
	for n := 0; n <= PointsMax; n++ {
		r, last, err := c.run(n)
		if err != nil {
			return rows, fmt.Errorf("oncetest: run %d: %w", n+1, err)
		}
		if rows = append(rows, r); last {
			return rows, nil
		}
	}
	return rows, fmt.Errorf("oncetest: a request passes more than %d points", PointsMax)
}

// newStage chooses by what a database is called.
func newStage(database string) (stage, error) {
	scheme, _, isURL := strings.Cut(database, "://")
	switch {
	case isURL && (scheme == "postgres" || scheme == "postgresql"):
		return newProxy(database, "5432", func() wire { return &postgres{statements: map[string]string{}} })
	case isURL && (scheme == "mysql" || scheme == "mariadb"):
		return newProxy(database, "3306", func() wire { return &mysql{statements: map[uint32]string{}} })
	case isURL, database == "", database == ":memory:", strings.HasPrefix(database, "file:"):
		return nil, errors.New("oncetest: the database is neither a URL postgres://… or mysql://… nor the path of an SQLite file")
	}
	return &walStage{path: database}, nil
}
