package ginonce_test

import (
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/onceward/onceward/adapters/ginonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
)

func BenchmarkHandle(b *testing.B) {
	conformtest.Bench(b, func(door *httponce.Door[*conform.Tx], adapter bool) http.Handler {
		router := gin.New()
		handler := gin.WrapH(door.Handle(conformtest.Orders, func(w http.ResponseWriter, _ *http.Request, _ *conform.Tx) error {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, err := w.Write(conformtest.BenchBody)
			return err
		}))
		if adapter {
			handler = ginonce.Handle(door, conformtest.Orders, func(c *gin.Context, _ *conform.Tx) error {
				c.Data(http.StatusCreated, "application/json", conformtest.BenchBody)
				return nil
			})
		}
		router.POST("/orders", handler)
		return router
	})
}
