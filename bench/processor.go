package bench

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// processorTime is what this process has used so far, in user mode and in the kernel.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails for a bad argument only
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Cost is the processor time that a measured side took for each thing it got done. Where many callers keep all
// processors busy it is what decides, and neighbours on the machine disturb it less than they do a rate.
type Cost struct {
	Client time.Duration // this process, the proxy between included
	Server time.Duration // the server's processes that hold the pool's connections; 0 where the system does not tell
}

// String tells the cost in microseconds.
func (c Cost) String() string {
	return fmt.Sprintf("%d+%d µs", c.Client.Microseconds(), c.Server.Microseconds())
}

// Meter counts over all rounds what a side gets done and what it takes.
type Meter struct {
	pids  []int
	rates []float64
	took  Cost
	done  float64
}

// NewMeter makes a meter of a shop's pool, whose connections are all open.
func (s *Shop) NewMeter(ctx context.Context) (*Meter, error) {
	rows, err := s.Pool.Query(ctx, "SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
	if err != nil {
		return nil, err
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	return &Meter{pids: pids}, err
}

// Another is a meter for another side on the same pool.
func (m *Meter) Another() *Meter { return &Meter{pids: m.pids} }

// Side is side, metered.
func (m *Meter) Side(side Side) Side {
	return func(ctx context.Context) (float64, error) {
		began, client, server := time.Now(), processorTime(), m.server()
		rate, err := side(ctx)
		m.took.Client += processorTime() - client
		m.took.Server += m.server() - server
		m.done += rate * time.Since(began).Seconds()
		m.rates = append(m.rates, rate)
		return rate, err
	}
}

// Rate is the median rate of the rounds.
func (m *Meter) Rate() float64 { return Median(m.rates) }

// Cost is the mean of the rounds.
func (m *Meter) Cost() Cost {
	return Cost{Client: time.Duration(float64(m.took.Client) / m.done), Server: time.Duration(float64(m.took.Server) / m.done)}
}

// server is what the server's processes have used so far.
func (m *Meter) server() (total time.Duration) {
	for _, pid := range m.pids {
		var nanoseconds int64
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid)) // Linux only
		_, _ = fmt.Sscan(string(text), &nanoseconds)
		total += time.Duration(nanoseconds)
	}
	return total
}
