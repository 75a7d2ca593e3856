// Peers compares onceward with what else makes a write happen once: what each does when things go wrong, and what it costs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/onceward/onceward/bench"
)

// within bounds the whole run.
const within = 30 * time.Minute

// tables are all, in their order.
var tables = []struct {
	name string
	make func(l *lab, ctx context.Context) (*table, error)
}{
	{"sides", (*lab).sidesTable},
	{"conduct", (*lab).conductTable},
	{"first", (*lab).firstTable},
	{"retry", (*lab).retryTable},
	{"growth", (*lab).growthTable},
	{"hot", (*lab).hotTable},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	l := &lab{warmups: 50}
	flag.IntVar(&l.rounds, "rounds", 8, "rounds of each comparison")
	flag.DurationVar(&l.window, "window", 600*time.Millisecond, "how long each side is measured in a round")
	flag.IntVar(&l.requests, "requests", 2000, "requests of each side, where they are counted and not their time")
	only := flag.String("only", ".", "make the tables whose names match this regular expression: sides, conduct, first, retry, growth, hot")
	flag.Parse()
	if err := l.run(ctx, os.Stdout, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run prints the chosen tables as Markdown, measured on a server of its own.
func (l *lab) run(ctx context.Context, out io.Writer, only string) (err error) {
	if l.server, err = bench.StartServer(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.server.Close()) }()
	began, before := time.Now(), load()
	if err := l.print(ctx, out, only); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s; %s on %d processors, client and server together; the load was %s before and %s after; took %v.\n",
		l.server.Says, runtime.Version(), runtime.NumCPU(), before, load(), time.Since(began).Round(time.Second))
	return err
}

// load is the machine's load average over a minute, which tells whether it was left alone.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // Linux only
	first, _, found := strings.Cut(string(text), " ")
	if !found {
		return "unknown"
	}
	return first
}

// print makes and prints the tables.
func (l *lab) print(ctx context.Context, out io.Writer, only string) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if !chosen.MatchString(t.name) {
			continue
		}
		made, err := t.make(l, ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		fmt.Fprintln(out, made)
	}
	return nil
}
