package fiberonce_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"

	"github.com/onceward/onceward/adapters/fiberonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
)

// Fiber's own bridge to net/http runs a handler in another goroutine, so the plain door stands alone here and Fiber without
// the door beside it: what the adapter takes more than both together is the adapter.
func BenchmarkHandle(b *testing.B) {
	answers := func(c fiber.Ctx) error {
		c.Set("Content-Type", "application/json")
		return c.Status(http.StatusCreated).Send(conformtest.BenchBody)
	}
	b.Run("adapter, first", func(b *testing.B) {
		s := conformtest.New(b, httponce.Options{})
		send(b, fiberonce.Handle(s.Door, conformtest.Orders, func(c fiber.Ctx, _ *conform.Tx) error { return answers(c) }), false)
	})
	b.Run("adapter, retry", func(b *testing.B) {
		s := conformtest.New(b, httponce.Options{})
		send(b, fiberonce.Handle(s.Door, conformtest.Orders, func(c fiber.Ctx, _ *conform.Tx) error { return answers(c) }), true)
	})
	b.Run("Fiber without the door", func(b *testing.B) { send(b, answers, false) })
}

func send(b *testing.B, handler fiber.Handler, retry bool) {
	app := fiber.New()
	app.Post("/orders", handler)
	serve := app.Handler()
	var c fasthttp.RequestCtx
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key := "key"
		if !retry {
			key += strconv.Itoa(i)
		}
		c.Request.Reset()
		c.Response.Reset()
		c.ResetUserValues()
		c.Request.Header.SetMethod(http.MethodPost)
		c.Request.SetRequestURI("/orders")
		c.Request.Header.SetContentType("application/json")
		c.Request.Header.Set("Authorization", "Bearer alice")
		c.Request.Header.Set(httponce.HeaderKey, key)
		c.Request.SetBodyRaw(conformtest.BenchBody)
		serve(&c)
		if status := c.Response.StatusCode(); status != http.StatusCreated {
			b.Fatalf("request %d was answered with %d %s", i, status, c.Response.Body())
		}
	}
}
