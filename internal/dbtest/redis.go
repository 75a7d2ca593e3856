package dbtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// RedisOptions say how a server differs from the default, which keeps its data in memory only.
type RedisOptions struct {
	// Settings are lines of the server's configuration, such as "maxmemory 4mb". Defaults to none.
	Settings []string
	// Sentinel makes it a sentinel, which watches other servers. Defaults to false.
	Sentinel bool
}

// Redis is a private Redis server.
type Redis struct {
	*server
	port int
}

// StartRedis starts a server for this test alone; it takes some ten milliseconds. It ends with the test.
func StartRedis(tb testing.TB, options RedisOptions) *Redis {
	tb.Helper()
	redis, err := NewRedis(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := redis.Close(); err != nil {
			tb.Error(err)
		}
	})
	return redis
}

// NewRedis starts a server for a program that is no test. [Redis.Close] ends it.
func NewRedis(options RedisOptions) (*Redis, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New("dbtest: no Redis server is installed: run make setup")
	}
	owner, err := account("redis")
	if err != nil {
		return nil, err
	}
	dir, err := serverDir(memoryTemp(), "redis", owner)
	if err != nil {
		return nil, err
	}
	r := &Redis{server: &server{
		name: "redis", dir: dir, account: owner, program: program,
		stopSignal: syscall.SIGTERM, deathSignal: syscall.SIGKILL,
	}}
	r.ready = r.accepts
	if err := r.firstStart(options); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close ends the server and deletes its data.
func (r *Redis) Close() error { return r.remove() }

// Addr is where the server listens, host:port. It stays the same over a restart.
func (r *Redis) Addr() string { return loopback(r.port) }

// URL is the connection string of the server's first database.
func (r *Redis) URL() string { return "redis://" + r.Addr() + "/0" }

// firstStart starts the server on a port that is free, also when somebody else takes the one just found.
func (r *Redis) firstStart(options RedisOptions) error {
	var err error
	for range portTries {
		if r.port, err = freePort(); err != nil {
			return err
		}
		if err = r.configure(options); err != nil {
			return err
		}
		if err = r.Start(); !errors.Is(err, errExited) {
			return err
		}
	}
	return err
}

// configure writes the file that the server reads; a sentinel also writes what it learns into it.
func (r *Redis) configure(options RedisOptions) error {
	path := filepath.Join(r.dir, "redis.conf")
	lines := append([]string{
		"bind 127.0.0.1", "port " + strconv.Itoa(r.port), "dir " + r.dir, "daemonize no",
	}, options.Settings...)
	r.arguments = []string{path}
	if options.Sentinel {
		r.arguments = append(r.arguments, "--sentinel")
	} else {
		lines = append(lines, `save ""`, "repl-diskless-sync-delay 0")
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	if r.account == nil {
		return nil
	}
	return os.Chown(path, int(r.account.Uid), int(r.account.Gid))
}

// accepts reads the server's own word: a connection could be answered by another server that took the port first, and one
// that still reads its log answers hardly anything else.
func (r *Redis) accepts(pid int) bool {
	info, err := r.Command("INFO")
	return err == nil && strings.Contains(info, "process_id:"+strconv.Itoa(pid)+"\r\n") && !strings.Contains(info, "loading:1\r\n")
}

// Command runs one command on a connection of its own and returns the answer as text; the parts of a list are lines. It is
// for set-up and for looking on from outside; what is tested uses a client library.
func (r *Redis) Command(words ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", r.Addr(), queryWithin)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(queryWithin)); err != nil {
		return "", err
	}
	request := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		request += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return "", err
	}
	return readRedis(bufio.NewReader(conn))
}

// readRedis reads one answer (https://redis.io/docs/latest/develop/reference/protocol-spec/, RESP2). What is not there is "".
func readRedis(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil || len(line) < 3 {
		return "", errors.Join(io.ErrUnexpectedEOF, err)
	}
	kind, rest := line[0], strings.TrimSuffix(line[1:], "\r\n")
	switch kind {
	case '-':
		return "", errors.New("redis: " + rest)
	case '$', '*':
	default:
		return rest, nil
	}
	size, err := strconv.Atoi(rest)
	if err != nil || size < 0 {
		return "", err
	}
	if kind == '$' {
		text := make([]byte, size+2)
		_, err = io.ReadFull(in, text)
		return string(text[:size]), err
	}
	parts := make([]string, size)
	for i := range parts {
		if parts[i], err = readRedis(in); err != nil {
			return "", err
		}
	}
	return strings.Join(parts, "\n"), nil
}
