package dbtest

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// PgBouncerOptions say how a pooler differs from the default, which gives each transaction any of its server connections.
type PgBouncerOptions struct {
	// ServersMax bounds the server connections of one database. Defaults to 20.
	ServersMax int
	// Settings are further lines of the pooler's configuration, such as "query_wait_timeout = 1". Defaults to none.
	Settings []string
}

// PgBouncer is a private pooler in transaction mode before a PostgreSQL server: it passes on whatever database is asked for. The
// user "postgres" needs no password.
type PgBouncer struct {
	*server
	psql   string
	target string
	port   int
}

// StartPgBouncer starts a pooler before the PostgreSQL server at target, host:port. It takes some ten milliseconds, and ends with
// the test.
func StartPgBouncer(tb testing.TB, target string, options PgBouncerOptions) *PgBouncer {
	tb.Helper()
	bouncer, err := newPgBouncer(target, options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := bouncer.remove(); err != nil {
			tb.Error(err)
		}
	})
	return bouncer
}

func newPgBouncer(target string, options PgBouncerOptions) (*PgBouncer, error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer") // not on everybody's path
	}
	if err != nil {
		return nil, errors.New("dbtest: no PgBouncer is installed: run make setup")
	}
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	owner, err := account("postgres")
	if err != nil {
		return nil, err
	}
	dir, err := serverDir(memoryTemp(), "pgbouncer", owner)
	if err != nil {
		return nil, err
	}
	b := &PgBouncer{psql: filepath.Join(bin, "psql"), target: target, server: &server{
		name: "pgbouncer", dir: dir, account: owner, program: program,
		stopSignal: syscall.SIGTERM, deathSignal: syscall.SIGKILL,
	}}
	b.ready = b.accepts
	if err := b.firstStart(options); err != nil {
		return nil, errors.Join(err, b.remove())
	}
	return b, nil
}

// Addr is where the pooler listens, host:port. It stays the same over a restart.
func (b *PgBouncer) Addr() string { return loopback(b.port) }

// URL returns a connection string of the server with the pooler's address in place of the server's.
func (b *PgBouncer) URL(direct string) string { return withHost(direct, b.Addr()) }

// firstStart starts the pooler on a port that is free, also when somebody else takes the one just found.
func (b *PgBouncer) firstStart(options PgBouncerOptions) error {
	var err error
	for range portTries {
		if b.port, err = freePort(); err != nil {
			return err
		}
		if err = b.configure(options); err != nil {
			return err
		}
		if err = b.Start(); !errors.Is(err, errExited) {
			return err
		}
	}
	return err
}

// configure writes the file that the pooler reads. lib/pq asks for extra_float_digits at its start.
func (b *PgBouncer) configure(options PgBouncerOptions) error {
	host, port, err := net.SplitHostPort(b.target)
	if err != nil {
		return err
	}
	servers := options.ServersMax
	if servers == 0 {
		servers = 20
	}
	lines := append([]string{
		"[databases]", "* = host=" + host + " port=" + port + " user=postgres",
		"[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + strconv.Itoa(b.port), "unix_socket_dir =",
		"auth_type = any", "admin_users = postgres", "ignore_startup_parameters = extra_float_digits", "pidfile = " + b.pidFile(),
		"pool_mode = transaction", "max_client_conn = 500", "default_pool_size = " + strconv.Itoa(servers),
	}, options.Settings...)
	path := filepath.Join(b.dir, "pgbouncer.ini")
	b.arguments = []string{path}
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}

func (b *PgBouncer) pidFile() string { return filepath.Join(b.dir, "pid") }

// accepts asks the pooler itself: a connection could be answered by another one that took the port first.
func (b *PgBouncer) accepts(int) bool {
	config, err := b.Admin("SHOW CONFIG")
	return err == nil && strings.Contains(config, b.pidFile())
}

// Admin runs a command of the pooler's console and returns the rows, one a line, columns separated by "|".
func (b *PgBouncer) Admin(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.psql, "-X", "-q", "-A", "-t", "-d", postgresURL(b.Addr(), "pgbouncer"), "-c", command)
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	rows, err := run(cmd)
	return strings.TrimSuffix(rows, "\n"), err
}
