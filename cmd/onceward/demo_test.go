package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the tests' own way to PostgreSQL
	_ "modernc.org/sqlite"             // and to SQLite

	"github.com/onceward/onceward/internal/dbtest"
)

// patience bounds every wait of a test for something that is to happen at once.
const patience = time.Minute

// onBoth runs a test with a PostgreSQL database and with the path of a SQLite file.
func onBoth(t *testing.T, test func(t *testing.T, database string)) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, dbtest.Database(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, filepath.Join(t.TempDir(), "demo.db"))
	})
}

// running is a demo that runs as a process of its own.
type running struct {
	t       *testing.T
	process *exec.Cmd
	ended   chan error
	url     string
	lines   []string // the curl lines
	log     *strings.Builder
}

var listens = regexp.MustCompile(`listens on (http://\S+)`)

// start starts a demo and waits until it has printed all that it says.
func start(t *testing.T, database string, more ...string) *running {
	t.Helper()
	command := program(context.Background(), append([]string{"demo", "--addr", "127.0.0.1:0", "--database", database}, more...)...)
	r := &running{t: t, process: command, ended: make(chan error, 1), log: &strings.Builder{}}
	command.Stderr = r.log
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(patience, func() { _ = command.Process.Kill() })
	defer stuck.Stop()
	r.read(out)
	go func() { r.ended <- command.Wait() }()
	t.Cleanup(func() { _ = command.Process.Kill() })
	if r.url == "" {
		t.Fatalf("the demo has ended: %v\n%s", <-r.ended, r.log)
	}
	return r
}

func (r *running) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if match := listens.FindStringSubmatch(line); match != nil {
			r.url = match[1]
		}
		if strings.HasPrefix(line, "  curl ") {
			r.lines = append(r.lines, line)
		}
		if strings.HasPrefix(line, "Ctrl-C") {
			return
		}
	}
}

func (r *running) signal(signal os.Signal) {
	r.t.Helper()
	if err := r.process.Process.Signal(signal); err != nil {
		r.t.Fatal(err)
	}
}

// awaitEnd waits for the process to end by itself.
func (r *running) awaitEnd() error {
	r.t.Helper()
	select {
	case err := <-r.ended:
		return err
	case <-time.After(patience):
		r.t.Fatalf("the demo has not ended\n%s", r.log)
		return nil
	}
}

// wantExit0 ends the demo by a signal.
func (r *running) wantExit0(signal os.Signal) {
	r.t.Helper()
	r.signal(signal)
	if err := r.awaitEnd(); err != nil {
		r.t.Errorf("it ended with %v\n%s", err, r.log)
	}
}

// awaitClosed waits until nobody listens any more.
func (r *running) awaitClosed() {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			return
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			r.t.Fatal("the demo still listens")
		}
	}
}

// answer is an HTTP answer that was read to its end.
type answer struct {
	status   int
	replayed bool
	body     string
	err      error
}

var client = &http.Client{Timeout: patience}

// place sends an order.
func (r *running) place(path, key, body string) answer {
	request, err := http.NewRequest("POST", r.url+path, strings.NewReader(body))
	if err != nil {
		return answer{err: err}
	}
	request.GetBody = nil // net/http must not send it again by itself (F43)
	request.Header.Set("Authorization", "Bearer demo-acme-alice")
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("Content-Type", "application/json")
	return do(request)
}

func do(request *http.Request) answer {
	got, err := client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header.Get("Idempotent-Replayed") == "true", string(body), err}
}

var quoted = regexp.MustCompile(`(-H|-d) '([^']*)'`)

// curl does what a line for curl says.
func curl(t *testing.T, line string) answer {
	t.Helper()
	method, body, header := "GET", "", http.Header{}
	for _, option := range quoted.FindAllStringSubmatch(line, -1) {
		name, value, _ := strings.Cut(option[2], ": ")
		if option[1] == "-d" {
			method, body = "POST", option[2]
			continue
		}
		header.Set(name, value)
	}
	request, err := http.NewRequest(method, strings.Fields(line)[2], strings.NewReader(body))
	if err != nil || strings.Fields(line)[1] != "-i" || quoted.ReplaceAllString(line, "") != "  curl -i "+strings.Fields(line)[2]+strings.Repeat(" ", 4) {
		t.Fatalf("%v: this test cannot read the line %q", err, line)
	}
	request.Header = header
	return do(request)
}

// orders are the orders that the demo lists.
func (r *running) orders() int {
	r.t.Helper()
	request, _ := http.NewRequest("GET", r.url+"/orders", nil)
	request.Header.Set("Authorization", "Bearer demo-acme-bob")
	var page struct{ Orders []any }
	if got := do(request); got.err != nil || json.Unmarshal([]byte(got.body), &page) != nil {
		r.t.Fatalf("%+v", got)
	}
	return len(page.Orders)
}

func (a answer) want(t *testing.T, status int, replayed bool) {
	t.Helper()
	if a.err != nil || a.status != status || a.replayed != replayed {
		t.Errorf("got %+v, want %d, replayed %v", a, status, replayed)
	}
}

const two = `{"userId":1,"skuId":9001,"quantity":2}`

func TestDemoTheLinesToTryShowSubmitRepeatAndChange(t *testing.T) {
	onBoth(t, func(t *testing.T, database string) {
		demo := start(t, database)
		if len(demo.lines) != 3 {
			t.Fatalf("it prints %q", demo.lines)
		}
		first := curl(t, demo.lines[0])
		first.want(t, 201, false)
		again := curl(t, demo.lines[1])
		again.want(t, 201, true)
		if again.body != first.body {
			t.Errorf("got %s, want %s", again.body, first.body)
		}
		curl(t, demo.lines[2]).want(t, 422, false)
		if n := demo.orders(); n != 1 {
			t.Errorf("%d orders", n)
		}
		demo.wantExit0(os.Interrupt)
		if log := demo.log.String(); strings.Contains(log, "try-") || strings.Contains(log, "BOOK") || !strings.Contains(log, "step=replay") {
			t.Errorf("the log is:\n%s", log)
		}
	})
}

func TestDemoR1_4_AFreshProcessKnowsTheFirstAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, database string) {
		demo := start(t, database)
		first := demo.place("/api/orders", "k", two)
		first.want(t, 201, false)
		demo.wantExit0(syscall.SIGTERM)
		demo = start(t, database)
		again := demo.place("/api/orders", "k", two)
		again.want(t, 201, true)
		demo.wantExit0(syscall.SIGTERM)
		if _, err := connect(t, database).Exec("DELETE FROM onceward_record"); err != nil {
			t.Fatal(err)
		}
		demo = start(t, database)
		found := demo.place("/api/orders", "k", two)
		found.want(t, 201, false)
		if again.body != first.body || found.body != first.body || demo.orders() != 1 {
			t.Errorf("got %s and %s, want %s; %d orders", again.body, found.body, first.body, demo.orders())
		}
	})
}

func TestDemoFreshForgetsEverything(t *testing.T) {
	onBoth(t, func(t *testing.T, database string) {
		demo := start(t, database, "--fresh") // nothing there
		demo.place("/orders", "k", `{"sku":"BOOK","quantity":2}`).want(t, 201, false)
		demo.wantExit0(syscall.SIGTERM)
		demo = start(t, database)
		if n := demo.orders(); n != 1 {
			t.Errorf("after a restart: %d orders", n)
		}
		demo.wantExit0(syscall.SIGTERM)
		demo = start(t, database, "--fresh")
		if n := demo.orders(); n != 0 {
			t.Errorf("after --fresh: %d orders", n)
		}
		demo.place("/orders", "k", `{"sku":"BOOK","quantity":3}`).want(t, 201, false)
	})
}

func TestDemoARunningRequestFinishes(t *testing.T) {
	onBoth(t, func(t *testing.T, database string) {
		demo := start(t, database)
		half := demo.placeHalf(t)
		demo.signal(syscall.SIGTERM)
		demo.awaitClosed()
		select {
		case err := <-demo.ended:
			t.Fatalf("it ended with %v while a request ran", err)
		default:
		}
		half.finish(t).want(t, 201, false)
		if err := demo.awaitEnd(); err != nil {
			t.Errorf("it ended with %v\n%s", err, demo.log)
		}
		if n := start(t, database).orders(); n != 1 {
			t.Errorf("%d orders", n)
		}
	})
}

func TestDemoASecondSignalEndsItAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, database string) {
		demo := start(t, database)
		half := demo.placeHalf(t)
		demo.signal(syscall.SIGTERM)
		demo.awaitClosed()
		demo.signal(syscall.SIGTERM)
		if err := demo.awaitEnd(); err == nil {
			t.Error("it ended with exit code 0, although a request was cut off")
		}
		if got := half.finish(t); got.err == nil {
			t.Errorf("the request was answered: %+v", got)
		}
		if n := start(t, database).orders(); n != 0 {
			t.Errorf("%d orders", n)
		}
	})
}

// half is a request that runs: its handler waits for the second half of the body.
type half struct{ conn net.Conn }

// placeHalf begins an order. The server says 100 Continue when the handler asks for the body.
func (r *running) placeHalf(t *testing.T) half {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, err = fmt.Fprintf(conn, "POST /api/orders HTTP/1.1\r\nHost: demo\r\nAuthorization: Bearer demo-acme-alice\r\nIdempotency-Key: half\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(two))
	if err != nil {
		t.Fatal(err)
	}
	const interim = "HTTP/1.1 100 Continue\r\n\r\n"
	got := make([]byte, len(interim))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != interim {
		t.Fatalf("got %q, %v", got, err)
	}
	return half{conn}
}

// finish sends the body and reads the answer.
func (h half) finish(t *testing.T) answer {
	t.Helper()
	_, _ = io.WriteString(h.conn, two) // a connection that was cut shows when it is read
	got, err := http.ReadResponse(bufio.NewReader(h.conn), nil)
	if err != nil {
		return answer{err: err}
	}
	body, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header.Get("Idempotent-Replayed") == "true", string(body), err}
}

// connect opens the demo's database beside it.
func connect(t *testing.T, database string) *sql.DB {
	t.Helper()
	driver, source := "sqlite", "file:"+database+"?_busy_timeout=5000&_txlock=immediate"
	if strings.Contains(database, "://") {
		driver, source = "pgx", database
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestDemoFailsWithOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "diary.txt")
	if err := os.WriteFile(text, []byte("dear diary, this is no database\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for database, fault := range map[string]string{
		"postgres://u:secret@127.0.0.1:1/x": "connection refused",
		"postgres://u:sec ret@[::1":         "cannot parse",
		"postgres://u:secret@h:port/x":      "cannot parse",
		"mysql://u:secret@127.0.0.1:1/x":    "connection refused",
		"oracle://u:secret@h/x":             "not known",
		"":                                  "no name",
		filepath.Join(dir, "nowhere/x.db"):  "unable to open database file",
		dir:                                 "unable to open database file",
		text:                                "not a database",
	} {
		wantFailure(t, exitFailed, fault, "demo", "--addr", "127.0.0.1:0", "--database", database)
	}
	wantFailure(t, exitFailed, "not a demo's database", "demo", "--addr", "127.0.0.1:0", "--fresh", "--database", text)
	for _, addr := range []string{"nonsense", "127.0.0.1:99999", "127.0.0.1:x"} {
		wantFailure(t, exitFailed, "listen", "demo", "--addr", addr, "--database", filepath.Join(dir, "x.db"))
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left over: %v", left)
	}
}

// A second demo on the same port must not remove the first one's data before it finds out.
func TestDemoAPortInUseHarmsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, database string) {
		demo := start(t, database)
		demo.place("/orders", "k", `{"sku":"BOOK","quantity":2}`).want(t, 201, false)
		wantFailure(t, exitFailed, "address already in use", "demo", "--fresh", "--addr", strings.TrimPrefix(demo.url, "http://"), "--database", database)
		if n := demo.orders(); n != 1 {
			t.Errorf("%d orders", n)
		}
		demo.wantExit0(syscall.SIGTERM)
	})
}

// The shop's lock for migrations is held, so that the demo is still about to start.
func TestDemoASignalWhileItStartsEndsIt(t *testing.T) {
	t.Parallel()
	database := dbtest.Database(t)
	db := connect(t, database)
	lock, err := db.Conn(t.Context())
	if err == nil {
		_, err = lock.ExecContext(t.Context(), "SELECT pg_advisory_lock(x'73686f70'::int)")
	}
	if err != nil {
		t.Fatal(err)
	}
	command := program(t.Context(), "demo", "--addr", "127.0.0.1:0", "--database", database)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	for waiting, deadline := 0, time.Now().Add(patience); waiting == 0; time.Sleep(5 * time.Millisecond) {
		err := db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'").Scan(&waiting)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the demo does not wait for the lock: %v", err)
		}
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
