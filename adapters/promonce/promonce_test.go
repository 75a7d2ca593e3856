package promonce_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/promonce"
	"github.com/onceward/onceward/memstore"
)

type tx struct{}

var createOrder = &onceward.Operation{Name: "create-order.v1"}

func TestStepsAreCounted(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	observer, err := promonce.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := onceward.New(memstore.New(func() *tx { return new(tx) }), onceward.Options{Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	scope := onceward.Scope{Tenant: "SECRET-TENANT", Principal: "SECRET-PRINCIPAL"}
	place := func(key, meaning string, err error) {
		_, _ = engine.Do(t.Context(), createOrder.For(scope, key, meaning), func(context.Context, *tx) (onceward.Outcome, error) {
			return onceward.Outcome{Kind: "text", Data: []byte("SECRET-ANSWER")}, err
		})
	}
	place("SECRET-KEY", "two books", nil)
	place("SECRET-KEY", "two books", nil)
	place("SECRET-KEY", "three books", nil)
	place("another SECRET-KEY", "two books", errors.New("SECRET-FAULT"))
	counts, text := collected(t, registry)
	for _, want := range []string{
		"claim create-order.v1  : 2", "run create-order.v1  : 1", "run create-order.v1  failed: 1", "save create-order.v1  : 1",
		"replay create-order.v1 memory : 1", "replay create-order.v1 memory key_reused: 1",
	} {
		if !strings.Contains(counts, want+"\n") {
			t.Errorf("there is no %q in\n%s", want, counts)
		}
	}
	if strings.Contains(text, "SECRET") {
		t.Error("a key, a scope or a payload is in the metrics")
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	if _, err := promonce.New(registry); err == nil {
		t.Error("a second observer was registered beside the first")
	}
}

// collected are the counts by "step operation note fault", a line each, and all that the registry holds.
func collected(t *testing.T, registry *prometheus.Registry) (counts, text string) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		text += family.String()
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if m.GetHistogram() != nil {
				counts += strings.Join([]string{labels["step"], labels["operation"], labels["note"], labels["fault"]}, " ") + ": " +
					fmt.Sprint(m.GetHistogram().GetSampleCount()) + "\n"
			}
		}
	}
	return counts, text
}

func TestSweptRecordsAreCounted(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	observer, err := promonce.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, deleted := range []int{3, 0, 4} {
		observer.End(t.Context(), onceward.Event{Step: onceward.StepSweep, Deleted: deleted})
	}
	for _, left := range []*onceward.Backlog{{Records: 9, Oldest: time.Hour}, nil, {Records: 2, Oldest: 90 * time.Second}, nil} {
		observer.End(t.Context(), onceward.Event{Step: onceward.StepSweep, Note: onceward.NoteBacklog, Backlog: left})
	}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(`# HELP onceward_backlog_oldest_seconds How long ago the first of the records in the backlog was over.
# TYPE onceward_backlog_oldest_seconds gauge
onceward_backlog_oldest_seconds 90
# HELP onceward_backlog_records Records whose time is over, counted after a sweep.
# TYPE onceward_backlog_records gauge
onceward_backlog_records 2
# HELP onceward_swept_records_total Records that sweeps deleted.
# TYPE onceward_swept_records_total counter
onceward_swept_records_total 7
`), "onceward_swept_records_total", "onceward_backlog_records", "onceward_backlog_oldest_seconds"); err != nil {
		t.Error(err)
	}
}
