package fiberonce_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/fiberonce"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/memstore"
)

// fasthttp uses a connection's memory again for its next request: a record must not hold any of it.
func TestRecordOutlivesFasthttpsMemory(t *testing.T) {
	t.Parallel()
	engine, err := onceward.New(memstore.New(func() tx { return tx{} }), onceward.Options{MemoryBytesMax: -1})
	if err != nil {
		t.Fatal(err)
	}
	door, err := httponce.New(engine, httponce.Options{Scope: func(r *http.Request) (onceward.Scope, error) {
		name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return onceward.Scope{}, errors.New("no credentials")
		}
		return onceward.Scope{Principal: name}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	app := fiber.New()
	app.Post("/orders", fiberonce.Handle(door, &onceward.Operation{Name: "order.v1"}, func(c fiber.Ctx, _ tx) error {
		return c.SendString(httponce.CallFrom(c.Context()).Key)
	}))
	url, client := listen(t, app), &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	t.Cleanup(client.CloseIdleConnections)
	for round := range 2 {
		for i := range 10 {
			r, err := http.NewRequest(http.MethodPost, url+"/orders", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", fmt.Sprint("Bearer caller-", i))
			r.Header.Set(httponce.HeaderKey, fmt.Sprint("key-", i))
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			replayed := response.Header.Get(httponce.HeaderReplayed) != ""
			if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK || replayed != (round > 0) {
				t.Errorf("round %d, request %d: answered %d, replayed %v, %v", round, i, response.StatusCode, replayed, err)
			}
		}
	}
}
