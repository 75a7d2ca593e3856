package httponce_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
)

// failed is the service's table of errors.
func failed(err error) *httponce.Answer {
	if errors.Is(err, conform.ErrFailed) {
		return httponce.Refuse(http.StatusTeapot, []byte("failed"))
	}
	return nil
}

// conformService serves the routes of the suite by what handles an operation.
func conformService[Tx any](t *testing.T, door *httponce.Door[Tx], handle func(*onceward.Operation) http.Handler) *httptest.Server {
	mux := http.NewServeMux()
	mux.Handle("/orders", handle(conformtest.Orders))
	mux.Handle("/patient/orders", handle(conformtest.Patient))
	mux.Handle("/orders/{id}", handle(conformtest.Update))
	mux.Handle(httponce.ContractPath, httponce.Contract(door))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("Vary", "Origin")
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestConformHandle(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{Failure: failed})
	server := conformService(t, s.Door, func(op *onceward.Operation) http.Handler {
		return s.Door.Handle(op, func(w http.ResponseWriter, r *http.Request, tx *conform.Tx) error {
			var in conform.Order
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				return err
			}
			answer := s.Place(r.Context(), tx, in)
			if answer.Final {
				return httponce.Conclude(answer.Status, answer.Body)
			}
			if answer.Status != 0 {
				for name, value := range answer.Header {
					w.Header().Set(name, value)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(answer.Status)
				if _, err := w.Write(answer.Body); err != nil {
					return err
				}
			}
			return answer.Err
		})
	})
	conformtest.Run(t, "httponce", s.Target(server.URL))
}

func TestConformJSON(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{Failure: failed})
	server := conformService(t, s.Door, func(op *onceward.Operation) http.Handler {
		return httponce.JSON(s.Door, op, func(ctx context.Context, tx *conform.Tx, in conform.Order) (*httponce.Answer, error) {
			answer := s.Place(ctx, tx, in)
			header := http.Header{}
			for name, value := range answer.Header {
				header.Set(name, value)
			}
			return &httponce.Answer{Status: answer.Status, Header: header, Body: answer.Body, Final: answer.Final}, answer.Err
		})
	})
	conformtest.Play(t, s.Target(server.URL))
}

// The other choice of statuses: every conflict is a 409.
func TestConformConflict409(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{Failure: failed, Statuses: httponce.Conflict409})
	server := conformService(t, s.Door, func(op *onceward.Operation) http.Handler {
		return httponce.JSON(s.Door, op, func(ctx context.Context, tx *conform.Tx, in conform.Order) (*httponce.Answer, error) {
			answer := s.Place(ctx, tx, in)
			return &httponce.Answer{Status: answer.Status, Body: answer.Body, Final: answer.Final}, answer.Err
		})
	})
	target := s.Target(server.URL)
	target.Problems = map[string]int{"key_reused": http.StatusConflict}
	conformtest.Play(t, target, conform.Replay, conform.Bounds, conform.Headers)
}
