package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/pgxstore"
)

// Duplicates wait for the first, as they do with the peers; with Wait 0 they would be refused at once.
var createOrder = &onceward.Operation{Name: "create-order.v1", Wait: onceward.WaitMax}

var caller = onceward.Scope{Tenant: "acme", Principal: "alice"}

// newOrder is what a caller asks for.
type newOrder struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

var onceDo = peer{
	name: "onceward",
	how:  "`Engine.Do` on `pgxstore`, the default options; duplicates wait (`Operation.Wait`)",
	open: func(ctx context.Context, s site) (*shop, error) {
		engine, err := s.engine(ctx)
		if err != nil {
			return nil, err
		}
		return &shop{close: func() {}, order: func(ctx context.Context, key string, quantity int) ([]byte, error) {
			command := createOrder.For(caller, key, newOrder{"BOOK", quantity})
			result, err := engine.Do(ctx, command, func(ctx context.Context, tx pgx.Tx) (onceward.Outcome, error) {
				answer, err := s.place(ctx, tx, key, quantity)
				return onceward.Outcome{Kind: "json", Data: answer}, err
			})
			if errors.Is(err, onceward.ErrKeyReused) {
				err = errRefused
			}
			return result.Outcome.Data, err
		}}, nil
	},
}

var onceDoor = peer{
	name: "onceward, HTTP",
	how:  "`httponce.JSON` on the same engine, called without a socket: it reads, checks and digests the request, holds and records the answer",
	open: func(ctx context.Context, s site) (*shop, error) {
		engine, err := s.engine(ctx)
		if err != nil {
			return nil, err
		}
		door, err := httponce.New(engine, httponce.Options{
			Scope:  func(*http.Request) (onceward.Scope, error) { return caller, nil },
			Report: func(*http.Request, error) {},
		})
		if err != nil {
			return nil, err
		}
		mux := http.NewServeMux()
		mux.Handle("POST /orders", httponce.JSON(door, createOrder, func(ctx context.Context, tx pgx.Tx, in newOrder) (*httponce.Answer, error) {
			body, err := s.place(ctx, tx, httponce.CallFrom(ctx).Command.Key, in.Quantity)
			if err != nil {
				return nil, err
			}
			return &httponce.Answer{Status: http.StatusCreated, Header: jsonContent, Body: body}, nil
		}))
		return &shop{close: func() {}, order: func(ctx context.Context, key string, quantity int) ([]byte, error) {
			return post(ctx, mux, key, quantity)
		}}, nil
	},
}

var jsonContent = http.Header{"Content-Type": {"application/json"}}

func (s site) engine(ctx context.Context) (*onceward.Engine[pgx.Tx], error) {
	if err := pgxstore.Migrate(ctx, s.pool); err != nil {
		return nil, err
	}
	return onceward.New(pgxstore.New(s.pool), onceward.Options{})
}

// bodyOf is an order as JSON.
func bodyOf(quantity int) string { return fmt.Sprintf(`{"sku":"BOOK","quantity":%d}`, quantity) }

// post sends an order to a handler, without a network.
func post(ctx context.Context, handler http.Handler, key string, quantity int) ([]byte, error) {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders", strings.NewReader(bodyOf(quantity)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	switch w.Code {
	case http.StatusCreated:
		return w.Body.Bytes(), nil
	case http.StatusUnprocessableEntity:
		return nil, errRefused
	}
	return nil, errStatus(w.Code)
}
