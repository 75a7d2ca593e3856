// Gates measures the speed that onceward promises, on servers of its own, and fails when a promise is broken.
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
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/onceward/onceward/bench"
)

// within bounds the whole run.
const within = 10 * time.Minute

// errMissed says that a gate was measured and missed; the table has told which.
var errMissed = errors.New("gates: a promise is broken")

// lab is where the trials are made and how long they take.
type lab struct {
	server   *bench.Server
	rounds   int
	window   time.Duration // of one side of one round
	requests int           // of one side of one round, where requests and not time are counted
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	l := &lab{}
	flag.IntVar(&l.rounds, "rounds", 20, "rounds of each comparison; a promise is judged by 8 or more")
	flag.DurationVar(&l.window, "window", 600*time.Millisecond, "how long each side is measured in a round")
	flag.IntVar(&l.requests, "requests", 500, "requests of each side in a round, where their log is measured")
	only := flag.String("only", ".", "measure the gates whose names match this regular expression")
	profile := flag.String("cpuprofile", "", "write a processor profile of this program to the file")
	flag.Parse()
	if err := profiled(*profile, func() error { return l.run(ctx, os.Stdout, *only) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run makes the trials and prints the table.
func (l *lab) run(ctx context.Context, out io.Writer, only string) (err error) {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if l.server, err = bench.StartServer(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.server.Close()) }()
	began := time.Now()
	var rows []row
	for _, t := range trials {
		if !t.matches(chosen) {
			continue
		}
		measured, err := t.rows(ctx, l)
		if err != nil {
			return err
		}
		rows = append(rows, measured...)
	}
	if err := printTable(out, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\n%s; %s on %d processors, client and server together; the load was %s; took %v\n",
		l.server.Says, runtime.Version(), runtime.NumCPU(), load(), time.Since(began).Round(time.Second))
	if missed(rows) {
		err = errors.Join(err, errMissed)
	}
	return err
}

// load is the machine's load average over a minute, which tells whether it was left alone.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, found := strings.Cut(string(text), " ")
	if !found {
		return "unknown"
	}
	return first
}

func profiled(path string, run func() error) error {
	if path == "" {
		return run()
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return errors.Join(err, file.Close())
	}
	err = run()
	pprof.StopCPUProfile()
	return errors.Join(err, file.Close())
}
