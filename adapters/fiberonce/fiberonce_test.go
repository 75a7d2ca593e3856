package fiberonce_test

import (
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/fiberonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
)

// place is a handler as a Fiber user writes it.
func place(s *conformtest.Service[*conform.Tx]) func(c fiber.Ctx, tx *conform.Tx) error {
	return func(c fiber.Ctx, tx *conform.Tx) error {
		var in conform.Order
		if err := c.Bind().JSON(&in); err != nil {
			return err
		}
		answer := s.Place(c.Context(), tx, in)
		if answer.Final {
			return httponce.Conclude(answer.Status, answer.Body)
		}
		for name, value := range answer.Header {
			c.Set(name, value)
		}
		if answer.Status != 0 {
			if err := c.Status(answer.Status).JSON(answer.Body); err != nil {
				return err
			}
		}
		return answer.Err
	}
}

func cors(c fiber.Ctx) error {
	c.Set("Access-Control-Allow-Origin", c.Get("Origin"))
	c.Set("Vary", "Origin")
	return c.Next()
}

// failures is the table of errors of a Fiber service.
func failures(c fiber.Ctx, err error) error {
	if errors.Is(err, conform.ErrFailed) {
		return c.Status(fiber.StatusTeapot).SendString("failed")
	}
	return fiber.DefaultErrorHandler(c, err)
}

// shutdown has the clients close their idle connections for as long as the server waits for them.
func shutdown(app *fiber.App) error {
	done := make(chan error, 1)
	go func() { done <- app.Shutdown() }()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-again.C:
			http.DefaultClient.CloseIdleConnections()
		}
	}
}

// listen serves the app on a socket until the test's end.
func listen(t *testing.T, app *fiber.App) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		if err := errors.Join(shutdown(app), <-ended); err != nil {
			t.Error(err)
		}
	})
	return "http://" + listener.Addr().String()
}

func serve(t *testing.T, s *conformtest.Service[*conform.Tx], config fiber.Config) string {
	t.Helper()
	config.ErrorHandler = failures
	app := fiber.New(config)
	app.Use(cors)
	for path, op := range map[string]*onceward.Operation{
		"/orders": conformtest.Orders, "/patient/orders": conformtest.Patient, "/orders/:id": conformtest.Update,
	} {
		app.All(path, fiberonce.Handle(s.Door, op, place(s)))
	}
	app.All(httponce.ContractPath, adaptor.HTTPHandler(httponce.Contract(s.Door)))
	return listen(t, app)
}

func TestConform(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{})
	conformtest.Run(t, "fiberonce", s.Target(serve(t, s, fiber.Config{})), conform.Noticed)
}

// The same, where the body comes as a stream.
func TestConformStreamedBodies(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{})
	conformtest.Play(t, s.Target(serve(t, s, fiber.Config{StreamRequestBody: true})), conform.Noticed)
}
