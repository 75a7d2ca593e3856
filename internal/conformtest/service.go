// Package conformtest runs the suite conform in the tests of the doors and adapters.
package conformtest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/memstore"
)

// The operations of the service under test, by the route that they are for.
var (
	Orders  = &onceward.Operation{Name: "conform-order.v1"}
	Patient = &onceward.Operation{Name: "conform-patient-order.v1", Wait: onceward.WaitMax}
	Update  = &onceward.Operation{Name: "conform-update.v1"}
)

// Service is what an adapter's test makes the service under test of.
type Service[Tx any] struct {
	conform.Stage
	Door *httponce.Door[Tx]

	insert func(ctx context.Context, tx Tx, reference string) error
}

// New is a service whose effects are on its stage.
func New(t testing.TB, o httponce.Options) *Service[*conform.Tx] {
	t.Helper()
	s := &Service[*conform.Tx]{insert: insert}
	s.open(t, s.engine(t, memstore.New(s.Begin)), o)
	return s
}

func insert(_ context.Context, tx *conform.Tx, reference string) error { return tx.Insert(reference) }

// On is a service whose effects are in the store's database, where insert makes them.
func On[Tx any](t testing.TB, store onceward.Store[Tx], o httponce.Options, insert func(ctx context.Context, tx Tx, reference string) error) *Service[Tx] {
	t.Helper()
	s := &Service[Tx]{insert: insert}
	s.open(t, s.engine(t, store), o)
	return s
}

func (s *Service[Tx]) engine(t testing.TB, store onceward.Store[Tx]) *onceward.Engine[Tx] {
	t.Helper()
	engine, err := onceward.New(store, onceward.Options{OutcomeBytesMax: OutcomeBytesMax})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func (s *Service[Tx]) open(t testing.TB, engine *onceward.Engine[Tx], o httponce.Options) {
	t.Helper()
	var err error
	o.Scope, o.Authorize = caller, permit
	o.Report = func(*http.Request, error) {}
	o.BodyBytesMax, o.StoredBytesMax, o.AnswerBytesMax = conform.BodyBytesMax, conform.StoredBytesMax, conform.AnswerBytesMax
	if s.Door, err = httponce.New(engine, o); err != nil {
		t.Fatal(err)
	}
}

// Place makes the effect of an order, and what the order says.
func (s *Service[Tx]) Place(ctx context.Context, tx Tx, in conform.Order) conform.Answer {
	if err := s.insert(ctx, tx, in.Reference); err != nil {
		return conform.Answer{Err: err}
	}
	return s.Play(ctx, in)
}

func caller(r *http.Request) (onceward.Scope, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return onceward.Scope{}, errors.New("no credentials")
	}
	return onceward.Scope{Tenant: "acme", Principal: name}, nil
}

func permit(r *http.Request, _ onceward.Command) error {
	if r.Header.Get("Suspended") != "" {
		return errors.New("suspended")
	}
	return nil
}
