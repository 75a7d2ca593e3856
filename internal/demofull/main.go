// Demofull runs the demo on private servers, a database and Redis, for those who have no Docker. Its arguments are the kind
// of database and the binary of onceward; the servers and their data go when it ends.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/onceward/onceward/internal/dbtest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "demofull:", err)
		os.Exit(1)
	}
}

func run(arguments []string) (err error) {
	if len(arguments) < 2 {
		return errors.New("say postgres or mariadb, and where the binary of onceward is; flags of the demo may follow")
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	url, closeDatabase, err := database(arguments[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDatabase()) }()
	redis, err := dbtest.NewRedis(dbtest.RedisOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, redis.Close()) }()
	fmt.Printf("Database: %s\nRedis: %s\n", url, redis.URL())
	return demo(signals, arguments[1], append([]string{"--database", url, "--redis", redis.URL()}, arguments[2:]...))
}

// database starts a server and returns the URL of a database in it.
func database(kind string) (url string, closeServer func() error, err error) {
	switch kind {
	case "postgres":
		server, err := dbtest.NewPostgres(dbtest.PostgresOptions{Durable: true})
		if err != nil {
			return "", nil, err
		}
		return server.URL("postgres"), server.Close, nil
	case "mariadb":
		server, err := dbtest.NewMariaDB(dbtest.MariaDBOptions{Durable: true})
		if err != nil {
			return "", nil, err
		}
		name, err := server.CreateDatabase()
		if err != nil {
			return "", nil, errors.Join(err, server.Close())
		}
		return server.URL(name), server.Close, nil
	}
	return "", nil, fmt.Errorf("%q is no database: say postgres or mariadb", kind)
}

// demo runs the demo until it ends, and hands it the signals that this process gets.
func demo(signals chan os.Signal, binary string, flags []string) error {
	cmd := exec.Command(binary, append([]string{"demo"}, flags...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := dbtest.Spawn(cmd); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // it has ended, or will
		case err := <-ended:
			return err
		}
	}
}
