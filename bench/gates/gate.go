package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"text/tabwriter"

	"github.com/onceward/onceward/bench"
)

// gate is one promised figure.
type gate struct {
	name      string
	unit      string
	decimals  int
	most      bool // the figure is to be need at most, not at least
	need, aim float64
}

func (g *gate) show(value float64) string { return fmt.Sprintf("%.*f%s", g.decimals, value, g.unit) }

// rounded is value as it is shown: to the worse side, so that what reads like the figure needed is that figure.
func (g *gate) rounded(value float64) float64 {
	const exact = 1e-9 // 0.58 times 100 is a little less than 58
	scale := math.Pow10(g.decimals)
	if g.most {
		return math.Ceil(value*scale-exact)/scale + 0 // 0 and not -0, to which a little less than nothing is rounded
	}
	return math.Floor(value*scale+exact) / scale
}

func (g *gate) met(value float64) bool {
	if g.most {
		return value <= g.need
	}
	return value >= g.need
}

func (g *gate) bound() string {
	if g.most {
		return "≤ "
	}
	return "≥ "
}

// figure is what was measured for a gate, and how.
type figure struct {
	value float64
	how   string
}

// trial measures the figures of its gates, in their order.
type trial struct {
	gates   []gate
	measure func(ctx context.Context, l *lab) ([]figure, error)
}

// trials are all, in the order in which PERF.md promises them.
var trials = slices.Concat(throughput, []trial{growth, hotKey, replay, door, adapters, redis, mariaDB})

func (t *trial) matches(name *regexp.Regexp) bool {
	return slices.ContainsFunc(t.gates, func(g gate) bool { return name.MatchString(g.name) })
}

// row is a gate and its figure.
type row struct {
	gate
	figure
}

func (t *trial) rows(ctx context.Context, l *lab) ([]row, error) {
	figures, err := t.measure(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("gates: %s: %w", t.gates[0].name, err)
	}
	rows := make([]row, len(t.gates))
	for i, g := range t.gates {
		rows[i] = row{g, figures[i]}
	}
	return rows, nil
}

func missed(rows []row) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return !r.met(r.value) })
}

// printTable prints the rows, and below them how each was measured.
func printTable(out io.Writer, rows []row) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "gate\tmeasured\tneeded\taim\t")
	for _, r := range rows {
		verdict := "ok"
		if !r.met(r.value) {
			verdict = "MISS"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.name, r.show(r.rounded(r.value)), r.bound()+r.show(r.need), r.show(r.aim), verdict)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(out, "\n%s: %s", r.name, r.how); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(out)
	return err
}

// spread tells the median of rounds and how far they lie apart.
func spread(values []float64, format string) string {
	first, median, third := bench.Quartiles(values)
	return fmt.Sprintf("median "+format+" of %d rounds, the middle half "+format+" to "+format, median, len(values), first, third)
}
