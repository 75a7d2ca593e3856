// Demofull runs the demo on private servers, PostgreSQL and Redis, for those who have no Docker. Its only argument is the
// binary of onceward; the servers and their data go when it ends.
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
	if len(arguments) == 0 {
		return errors.New("say where the binary of onceward is; flags of the demo may follow")
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	postgres, err := dbtest.NewPostgres(dbtest.PostgresOptions{Durable: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, postgres.Close()) }()
	redis, err := dbtest.NewRedis(dbtest.RedisOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, redis.Close()) }()
	fmt.Printf("PostgreSQL: %s\nRedis: %s\n", postgres.URL("postgres"), redis.URL())
	return demo(signals, arguments[0], append([]string{"--database", postgres.URL("postgres"), "--redis", redis.URL()}, arguments[1:]...))
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
