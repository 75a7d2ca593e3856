package otelonce_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/otelonce"
	"github.com/onceward/onceward/memstore"
)

type tx struct{}

var createOrder = &onceward.Operation{Name: "create-order.v1"}

func TestStepsAreSpansAndMeasured(t *testing.T) {
	t.Parallel()
	spans, reader := tracetest.NewSpanRecorder(), metric.NewManualReader()
	tracers := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	observer, err := otelonce.New(otelonce.Options{TracerProvider: tracers, MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := onceward.New(memstore.New(func() *tx { return new(tx) }), onceward.Options{Observer: observer})
	if err != nil {
		t.Fatal(err)
	}
	scope := onceward.Scope{Tenant: "SECRET-TENANT", Principal: "SECRET-PRINCIPAL"}
	ctx, request := tracers.Tracer("test").Start(t.Context(), "request")
	id := ""
	place := func(key, meaning string, err error) {
		result, _ := engine.Do(ctx, createOrder.For(scope, key, meaning), func(ctx context.Context, _ *tx) (onceward.Outcome, error) {
			_, own := tracers.Tracer("test").Start(ctx, "own work")
			own.End()
			return onceward.Outcome{Kind: "text", Data: []byte("SECRET-ANSWER")}, err
		})
		id += result.ID
	}
	place("SECRET-KEY", "two books", nil)
	request.End()
	ended := spans.Ended()
	run, own := spanOf(t, ended, "onceward run"), spanOf(t, ended, "own work")
	if own.Parent().SpanID() != run.SpanContext().SpanID() || run.Parent().SpanID() != request.SpanContext().SpanID() {
		t.Error("the work's spans do not lie in the run's, and that in the request's")
	}
	for _, step := range []string{"identify", "claim", "run", "save"} {
		span := spanOf(t, ended, "onceward "+step)
		if text := fmt.Sprint(span.Attributes()); !strings.Contains(text, id) || !strings.Contains(text, "create-order.v1") || span.Status().Code != codes.Unset {
			t.Errorf("%s: %s, %v", step, text, span.Status())
		}
	}
	place("SECRET-KEY", "three books", nil)
	if span := spanOf(t, spans.Ended(), "onceward replay"); span.Status().Code != codes.Unset || !strings.Contains(fmt.Sprint(span.Attributes()), "key_reused") {
		t.Errorf("a reused key: %v, %v", span.Attributes(), span.Status())
	}
	place("another SECRET-KEY", "two books", errors.New("SECRET-FAULT"))
	failed := 0
	for _, span := range spans.Ended() {
		if span.Name() == "onceward run" && span.Status() == (trace.Status{Code: codes.Error, Description: "failed"}) {
			failed++
		}
		if text := fmt.Sprint(span.Name(), span.Attributes(), span.Status(), span.Events()); strings.Contains(text, "SECRET") {
			t.Errorf("a key, a scope or a payload is in a span: %s", text)
		}
	}
	if failed != 1 {
		t.Errorf("%d spans tell of the failed work", failed)
	}
	wantMeasured(t, reader, 2) // runs
}

func spanOf(t *testing.T, spans []trace.ReadOnlySpan, name string) trace.ReadOnlySpan {
	t.Helper()
	for _, span := range spans {
		if span.Name() == name {
			return span
		}
	}
	t.Fatalf("there is no span %q", name)
	return nil
}

// wantMeasured counts the runs in the histogram, and looks for secrets in it.
func wantMeasured(t *testing.T, reader *metric.ManualReader, want uint64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(fmt.Sprint(all.ScopeMetrics), "SECRET") {
		t.Error("a key, a scope or a payload is in the metrics")
	}
	runs := uint64(0)
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			for _, point := range m.Data.(metricdata.Histogram[float64]).DataPoints {
				if step, _ := point.Attributes.Value("onceward.step"); step.AsString() == "run" && m.Name == "onceward.step.duration" {
					runs += point.Count
				}
			}
		}
	}
	if runs != want {
		t.Errorf("%d runs were measured, want %d", runs, want)
	}
}

func TestBacklogIsMeasured(t *testing.T) {
	t.Parallel()
	reader := metric.NewManualReader()
	observer, err := otelonce.New(otelonce.Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []*onceward.Backlog{{Records: 9, Oldest: time.Hour}, nil, {Records: 2, Oldest: 90 * time.Second}, nil} {
		e := onceward.Event{Step: onceward.StepSweep, Note: onceward.NoteBacklog}
		ctx := observer.Start(t.Context(), e)
		e.Backlog = left
		observer.End(ctx, e)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				found[m.Name] = fmt.Sprint(data.DataPoints[0].Value, m.Unit)
			case metricdata.Gauge[float64]:
				found[m.Name] = fmt.Sprint(data.DataPoints[0].Value, m.Unit)
			}
		}
	}
	if found["onceward.backlog.records"] != "2{record}" || found["onceward.backlog.oldest"] != "90s" {
		t.Errorf("the gauges are %v", found)
	}
}
