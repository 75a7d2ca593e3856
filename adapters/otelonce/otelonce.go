// Package otelonce tells OpenTelemetry of onceward's steps: a span for each, named "onceward claim" and so on, in which the
// work's own spans lie, the histogram onceward.step.duration in seconds, and, after a sweep, the gauges onceward.backlog.records (records
// whose time is over, at most onceward.BacklogMax) and onceward.backlog.oldest in seconds (how long ago the first of them was over).
//
// Spans have the attributes onceward.operation, onceward.id (the public id, by which a record is found), onceward.note and
// onceward.fault; the histogram has the same with onceward.step and without the id. Their values are the closed words of the
// package onceward and the names of operations: never a key or a payload. A fault sets the span's status to Error, except where
// it is the ordinary answer to a duplicate or the caller's own doing.
package otelonce

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/onceward/onceward"
)

const scope = "github.com/onceward/onceward/adapters/otelonce"

// Options of an observer. The zero value works.
type Options struct {
	// TracerProvider makes the spans. Defaults to the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the histogram. Defaults to the global one.
	MeterProvider metric.MeterProvider
}

type observer struct {
	tracer trace.Tracer
	took   metric.Float64Histogram

	backlog metric.Int64Gauge
	oldest  metric.Float64Gauge
}

// New makes an observer. It is safe for concurrent use. The error is the meter's.
func New(options Options) (onceward.Observer, error) {
	if options.TracerProvider == nil {
		options.TracerProvider = otel.GetTracerProvider()
	}
	if options.MeterProvider == nil {
		options.MeterProvider = otel.GetMeterProvider()
	}
	meter := options.MeterProvider.Meter(scope)
	took, err := meter.Float64Histogram("onceward.step.duration",
		metric.WithUnit("s"), metric.WithDescription("How long a step of onceward took."))
	backlog, backlogErr := meter.Int64Gauge("onceward.backlog.records",
		metric.WithUnit("{record}"), metric.WithDescription("Records whose time is over, counted after a sweep."))
	oldest, oldestErr := meter.Float64Gauge("onceward.backlog.oldest",
		metric.WithUnit("s"), metric.WithDescription("How long ago the first of the records in the backlog was over."))
	return &observer{
		tracer: options.TracerProvider.Tracer(scope), took: took, backlog: backlog, oldest: oldest,
	}, errors.Join(err, backlogErr, oldestErr)
}

// Start begins a span.
func (o *observer) Start(ctx context.Context, e onceward.Event) context.Context {
	ctx, span := o.tracer.Start(ctx, "onceward "+string(e.Step))
	if e.Operation != "" {
		span.SetAttributes(attribute.String("onceward.operation", e.Operation), attribute.String("onceward.id", e.ID))
	}
	return ctx
}

// End ends it and measures the step.
func (o *observer) End(ctx context.Context, e onceward.Event) {
	ended := []attribute.KeyValue{attribute.String("onceward.note", string(e.Note)), attribute.String("onceward.fault", e.Fault())}
	o.took.Record(ctx, e.Took.Seconds(), metric.WithAttributes(append(ended,
		attribute.String("onceward.step", string(e.Step)), attribute.String("onceward.operation", e.Operation))...))
	if e.Backlog != nil {
		o.backlog.Record(ctx, int64(e.Backlog.Records))
		o.oldest.Record(ctx, e.Backlog.Oldest.Seconds())
	}
	span := trace.SpanFromContext(ctx)
	defer span.End()
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(ended...)
	if e.Step == onceward.StepSweep {
		span.SetAttributes(attribute.Int("onceward.deleted", e.Deleted))
	}
	switch fault := e.Fault(); fault {
	case "", "in_flight", "key_reused", "expired", "not_issued", "token_expired", "meaning", "cancelled":
	default:
		span.SetStatus(codes.Error, fault)
	}
}
