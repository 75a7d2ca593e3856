package echoonce_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/onceward/onceward/adapters/echoonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
)

func BenchmarkHandle(b *testing.B) {
	conformtest.Bench(b, func(door *httponce.Door[*conform.Tx], adapter bool) http.Handler {
		e := echo.New()
		handler := echo.WrapHandler(door.Handle(conformtest.Orders, func(w http.ResponseWriter, _ *http.Request, _ *conform.Tx) error {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, err := w.Write(conformtest.BenchBody)
			return err
		}))
		if adapter {
			handler = echoonce.Handle(door, conformtest.Orders, func(c echo.Context, _ *conform.Tx) error {
				return c.JSONBlob(http.StatusCreated, conformtest.BenchBody)
			})
		}
		e.POST("/orders", handler)
		return e
	})
}
