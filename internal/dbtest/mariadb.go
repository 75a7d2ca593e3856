package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// The ordinary user of a MariaDB server: it may do everything in the databases made for tests, and nothing to the server.
const (
	mariaDBUser     = "test"
	mariaDBPassword = "s3cret"
)

// MariaDBOptions say how a server differs from the default, which is fast and forgets what it was told when the machine crashes.
type MariaDBOptions struct {
	// Durable makes the server flush its log at every commit, for benchmarks and for proofs about crashes. Defaults to false.
	Durable bool
	// Settings are further server settings, each "name=value". Defaults to none.
	Settings []string
}

// temp is where the data lie: what need not survive the machine lies in memory.
func (o MariaDBOptions) temp() string {
	if o.Durable {
		return os.TempDir()
	}
	return memoryTemp()
}

// MariaDB is a private MariaDB server. Its "root" needs no password.
type MariaDB struct {
	*server
	client    string // the command-line client
	port      int
	databases atomic.Int64
}

// StartMariaDB starts a server for this test alone, which may crash and pause it. It ends with the test.
func StartMariaDB(tb testing.TB, options MariaDBOptions) *MariaDB {
	tb.Helper()
	maria, err := NewMariaDB(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := maria.Close(); err != nil {
			tb.Error(err)
		}
	})
	return maria
}

// NewMariaDB starts a server for a program that is no test. [MariaDB.Close] ends it.
func NewMariaDB(options MariaDBOptions) (*MariaDB, error) {
	m, err := makeMariaDB(options)
	if err != nil {
		return nil, err
	}
	if err := m.firstStart(options); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// makeMariaDB makes a server's directory and its data.
func makeMariaDB(options MariaDBOptions) (*MariaDB, error) {
	program, err := mariaDBProgram("mariadbd")
	if err != nil {
		return nil, err
	}
	client, err := mariaDBProgram("mariadb")
	if err != nil {
		return nil, err
	}
	install, err := mariaDBProgram("mariadb-install-db")
	if err != nil {
		return nil, err
	}
	owner, err := account("mysql")
	if err != nil {
		return nil, err
	}
	dir, err := serverDir(options.temp(), "mariadb", owner)
	if err != nil {
		return nil, err
	}
	m := &MariaDB{client: client, server: &server{
		name: "mariadb", dir: dir, account: owner, program: program,
		stopSignal: syscall.SIGTERM, deathSignal: syscall.SIGKILL,
	}}
	m.ready = m.accepts
	arguments := append([]string{
		"--no-defaults", "--datadir=" + m.data(), "--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", m.tmpdir(),
	}, options.sizes()...)
	if _, err := run(m.command(install, arguments...)); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close ends the server and deletes its data.
func (m *MariaDB) Close() error { return m.remove() }

// Addr is where the server listens, host:port. It stays the same over a restart.
func (m *MariaDB) Addr() string { return loopback(m.port) }

// URL is the connection string of a database of this server, for a user who may use it and do nothing else.
func (m *MariaDB) URL(database string) string {
	return mariaDBURL(url.UserPassword(mariaDBUser, mariaDBPassword), m.Addr(), database)
}

// RootURL is the connection string of a database for the server's superuser.
func (m *MariaDB) RootURL(database string) string {
	return mariaDBURL(url.User("root"), m.Addr(), database)
}

func mariaDBURL(user *url.Userinfo, addr, database string) string {
	return (&url.URL{Scheme: "mysql", User: user, Host: addr, Path: "/" + database}).String()
}

// Database makes an empty database for this test and returns its URL. It is dropped with the test, whoever is still connected.
func (m *MariaDB) Database(tb testing.TB) string {
	tb.Helper()
	name, err := m.CreateDatabase()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.dropDatabase(name); err != nil {
			tb.Error(err)
		}
	})
	return m.URL(name)
}

// CreateDatabase makes an empty database and returns its name.
func (m *MariaDB) CreateDatabase() (string, error) {
	name := fmt.Sprintf("test_%d", m.databases.Add(1))
	_, err := m.Exec("mysql", "CREATE DATABASE "+name)
	return name, err
}

// dropDatabase drops a database, unless the server is down: then its data go with it. A transaction that is open there would
// be waited for.
func (m *MariaDB) dropDatabase(name string) error {
	m.mu.Lock()
	running := m.running()
	m.mu.Unlock()
	if !running {
		return nil
	}
	_, err := m.Exec("mysql", `BEGIN NOT ATOMIC
		DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; -- it has ended by itself
		FOR one IN (SELECT id FROM information_schema.processlist WHERE db = '`+name+`') DO KILL one.id; END FOR;
		DROP DATABASE `+name+`;
	END`)
	return err
}

// Exec runs a statement as root in a database with the command-line client, and returns the rows, one a line, columns separated
// by tabs. Several statements are a block, BEGIN NOT ATOMIC … END. It is for set-up and for looking on from outside; what is
// tested uses a driver.
func (m *MariaDB) Exec(database, sql string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), queryWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, m.client, "--no-defaults", "--host=127.0.0.1", "--port="+strconv.Itoa(m.port), "--user=root",
		"--batch", "--raw", "--skip-column-names", "--delimiter=//", "--execute="+sql, database)
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	rows, err := run(cmd)
	return strings.TrimSuffix(rows, "\n"), err
}

// firstStart starts the server on a port that is free, also when somebody else takes the one just found, and makes the
// ordinary user.
func (m *MariaDB) firstStart(options MariaDBOptions) error {
	var err error
	for range portTries {
		if m.port, err = freePort(); err != nil {
			return err
		}
		m.arguments = m.settings(options)
		if err = m.Start(); !errors.Is(err, errExited) {
			break
		}
	}
	if err == nil {
		_, err = m.Exec("mysql", "GRANT ALL ON `test\\_%`.* TO "+mariaDBUser+"@'127.0.0.1' IDENTIFIED BY '"+mariaDBPassword+"'")
	}
	return err
}

func (m *MariaDB) data() string { return filepath.Join(m.dir, "data") }

func (m *MariaDB) pidFile() string { return filepath.Join(m.dir, "pid") }

// tmpdir is a place for temporary tables that no other server uses: each removes all that it finds there when it starts.
func (m *MariaDB) tmpdir() string { return "--tmpdir=" + m.dir }

// sizes are the server's own for what is measured, and less than that, which a start has less work with, for tests.
func (o MariaDBOptions) sizes() []string {
	if o.Durable {
		return nil
	}
	return []string{"--innodb-log-file-size=16M", "--innodb-buffer-pool-size=64M"}
}

func (m *MariaDB) settings(options MariaDBOptions) []string {
	flush := "2" // handed to the kernel at the commit, which is enough where only the process dies
	if options.Durable {
		flush = "1"
	}
	arguments := []string{
		"--no-defaults", "--datadir=" + m.data(), "--pid-file=" + m.pidFile(), "--socket=" + filepath.Join(m.dir, "socket"), m.tmpdir(),
		"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(m.port), "--skip-name-resolve", "--max-connections=400",
		"--innodb-flush-log-at-trx-commit=" + flush,
	}
	arguments = append(arguments, options.sizes()...)
	for _, setting := range options.Settings {
		arguments = append(arguments, "--"+setting)
	}
	return arguments
}

// accepts reads the server's own word, which it writes once it has its port: a connection could be answered by another server
// that took the port first.
func (m *MariaDB) accepts(pid int) bool {
	text, _ := os.ReadFile(m.pidFile())
	return strings.TrimSpace(string(text)) == strconv.Itoa(pid)
}

// mariaDBProgram finds a program where Debian puts it, which need not be on everybody's path.
func mariaDBProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		path, err = exec.LookPath(filepath.Join("/usr/sbin", name))
	}
	if err != nil {
		return "", errors.New("dbtest: no MariaDB server is installed: run make setup")
	}
	return path, nil
}
