// Package promonce counts and times onceward's steps for Prometheus:
//
//	onceward_step_duration_seconds{step, operation, note, fault}  a histogram; its _count is how often a step ended so
//	onceward_swept_records_total                                  records that sweeps deleted
//	onceward_backlog_records                                      records whose time is over, after a sweep; at most onceward.BacklogMax
//	onceward_backlog_oldest_seconds                               how long ago the first of them was over
//
// The labels' values are the closed words of the package onceward and the names of operations: never a key, an id or a payload.
// A replay from memory is {step="replay", note="memory"}, a duplicate that was told of a running attempt {step="claim",
// fault="in_flight"}, a work that missed its transaction {step="save", note="untouched"}.
package promonce

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onceward/onceward"
)

// buckets reach from a replay out of memory to a work that takes all of its time, in seconds.
var buckets = []float64{1e-6, 1e-5, 1e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}

type observer struct {
	steps *prometheus.HistogramVec
	swept prometheus.Counter

	backlog, oldest prometheus.Gauge
}

// New makes an observer whose metrics are registered with r: once in a process, for all its engines. It is safe for concurrent
// use. The error is the registry's.
func New(r prometheus.Registerer) (onceward.Observer, error) {
	o := &observer{
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "onceward_step_duration_seconds", Help: "How long a step of onceward took.", Buckets: buckets,
		}, []string{"step", "operation", "note", "fault"}),
		swept: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "onceward_swept_records_total", Help: "Records that sweeps deleted.",
		}),
		backlog: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "onceward_backlog_records", Help: "Records whose time is over, counted after a sweep.",
		}),
		oldest: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "onceward_backlog_oldest_seconds", Help: "How long ago the first of the records in the backlog was over.",
		}),
	}
	for _, c := range []prometheus.Collector{o.steps, o.swept, o.backlog, o.oldest} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Start does nothing.
func (*observer) Start(ctx context.Context, _ onceward.Event) context.Context { return ctx }

// End counts and times e.
func (o *observer) End(_ context.Context, e onceward.Event) {
	o.steps.WithLabelValues(string(e.Step), e.Operation, string(e.Note), e.Fault()).Observe(e.Took.Seconds())
	if e.Deleted > 0 {
		o.swept.Add(float64(e.Deleted))
	}
	if e.Backlog != nil {
		o.backlog.Set(float64(e.Backlog.Records))
		o.oldest.Set(e.Backlog.Oldest.Seconds())
	}
}
