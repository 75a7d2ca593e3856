package dbtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	portTries   = 5
	queryWithin = 30 * time.Second
)

// PostgresOptions say how a server differs from the default, which is fast and forgets what it was told when the machine crashes.
type PostgresOptions struct {
	// Durable makes the server flush its log at every commit, for benchmarks and for proofs about crashes. Defaults to false.
	Durable bool
	// Settings are further server settings, each "name=value". Defaults to none.
	Settings []string
}

// temp is where the data lie: what need not survive the machine lies in memory.
func (o PostgresOptions) temp() string {
	if o.Durable {
		return os.TempDir()
	}
	return memoryTemp()
}

// Postgres is a private PostgreSQL server. Its superuser "postgres" needs no password.
type Postgres struct {
	*server
	bin       string // the folder of the server's programs
	port      int
	databases atomic.Int64
}

// StartPostgres starts a server for this test alone, which may crash and pause it. It ends with the test.
func StartPostgres(tb testing.TB, options PostgresOptions) *Postgres {
	tb.Helper()
	postgres, err := NewPostgres(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := postgres.Close(); err != nil {
			tb.Error(err)
		}
	})
	return postgres
}

// NewPostgres starts a server for a program that is no test. [Postgres.Close] ends it.
func NewPostgres(options PostgresOptions) (*Postgres, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	owner, err := account("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := serverDir(options.temp(), "postgres", owner)
	if err != nil {
		return nil, err
	}
	p := &Postgres{bin: bin, server: &server{
		name: "postgres", dir: dir, account: owner, program: filepath.Join(bin, "postgres"),
		stopSignal: syscall.SIGINT, deathSignal: syscall.SIGQUIT,
	}}
	p.ready = p.accepts
	if err := p.firstStart(options); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close ends the server and deletes its data.
func (p *Postgres) Close() error { return p.remove() }

// Addr is where the server listens, host:port. It stays the same over a restart.
func (p *Postgres) Addr() string { return loopback(p.port) }

// URL is the connection string of a database of this server; "postgres" always exists.
func (p *Postgres) URL(database string) string { return postgresURL(p.Addr(), database) }

// Database makes an empty database for this test and returns its URL. It is dropped with the test, whoever is still connected.
func (p *Postgres) Database(tb testing.TB) string {
	tb.Helper()
	name, err := p.CreateDatabase()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.dropDatabase(name); err != nil {
			tb.Error(err)
		}
	})
	return p.URL(name)
}

// CreateDatabase makes an empty database and returns its name.
func (p *Postgres) CreateDatabase() (string, error) {
	name := fmt.Sprintf("test_%d", p.databases.Add(1))
	_, err := p.Exec("postgres", "CREATE DATABASE "+name)
	return name, err
}

// Exec runs SQL in a database with psql, as a script that ends at its first error. It returns the rows, one a line, columns
// separated by "|". It is for set-up and for looking on from outside; what is tested uses a driver.
func (p *Postgres) Exec(database, sql string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "psql"), "-X", "-q", "-A", "-t",
		"-v", "ON_ERROR_STOP=1", "-d", p.URL(database), "-c", sql)
	cmd.Env = []string{"LC_ALL=C.UTF-8"} // no PG… variable of ours may redirect it
	rows, err := run(cmd)
	return strings.TrimSuffix(rows, "\n"), err
}

// dropDatabase drops a database, unless the server is down: then its data go with it.
func (p *Postgres) dropDatabase(name string) error {
	p.mu.Lock()
	running := p.running()
	p.mu.Unlock()
	if !running {
		return nil
	}
	_, err := p.Exec("postgres", "DROP DATABASE "+name+" WITH (FORCE)")
	return err
}

// firstStart makes the data and starts the server on a port that is free, also when somebody else takes the one just found.
func (p *Postgres) firstStart(options PostgresOptions) error {
	if _, err := run(p.command(filepath.Join(p.bin, "initdb"), "-D", p.data(), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions")); err != nil {
		return err
	}
	var err error
	for range portTries {
		if p.port, err = freePort(); err != nil {
			return err
		}
		p.arguments = p.settings(options)
		if err = p.Start(); !errors.Is(err, errExited) {
			return err
		}
	}
	return err
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) settings(options PostgresOptions) []string {
	settings := []string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(p.port), "unix_socket_directories=",
		"max_connections=200", "shared_buffers=64MB", "dynamic_shared_memory_type=mmap", "timezone=UTC", "log_timezone=UTC",
	}
	if !options.Durable {
		settings = append(settings, "fsync=off", "full_page_writes=off", "min_wal_size=32MB", "max_wal_size=256MB")
	}
	arguments := []string{"-D", p.data()}
	for _, setting := range append(settings, options.Settings...) {
		arguments = append(arguments, "-c", setting)
	}
	return arguments
}

// accepts reads the server's own word, as pg_ctl does: a connection could be answered by another server that took the port first.
func (p *Postgres) accepts(pid int) bool {
	text, _ := os.ReadFile(filepath.Join(p.data(), "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	return len(lines) > 7 && lines[0] == strconv.Itoa(pid) && strings.TrimSpace(lines[7]) == "ready"
}

func postgresURL(addr, database string) string {
	return "postgres://postgres@" + addr + "/" + database + "?sslmode=disable"
}

// postgresBin finds the folder of the newest server: where Debian puts its versions, else on the path.
func postgresBin() (string, error) {
	servers, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(servers) > 0 {
		return filepath.Dir(slices.MaxFunc(servers, byVersion)), nil
	}
	path, err := exec.LookPath("postgres")
	if err != nil {
		return "", errors.New("dbtest: no PostgreSQL server is installed: run make setup")
	}
	return filepath.Dir(path), nil
}

// byVersion orders …/15/bin/postgres before …/16/bin/postgres and 9.6 before both.
func byVersion(a, b string) int {
	version := func(path string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
		return number
	}
	return cmp.Compare(version(a), version(b))
}
