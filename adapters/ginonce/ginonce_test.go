package ginonce_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/ginonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
)

func init() { gin.SetMode(gin.ReleaseMode) }

// place is a handler as a Gin user writes it.
func place(s *conformtest.Service[*conform.Tx]) func(c *gin.Context, tx *conform.Tx) error {
	return func(c *gin.Context, tx *conform.Tx) error {
		var in conform.Order
		if err := c.ShouldBindJSON(&in); err != nil {
			return err
		}
		answer := s.Place(c.Request.Context(), tx, in)
		if answer.Final {
			return httponce.Conclude(answer.Status, answer.Body)
		}
		for name, value := range answer.Header {
			c.Header(name, value)
		}
		if answer.Status != 0 {
			c.JSON(answer.Status, answer.Body)
		}
		return answer.Err
	}
}

// attach is a handler that has its error attached instead of returned.
func attach(h func(c *gin.Context, tx *conform.Tx) error) func(c *gin.Context, tx *conform.Tx) error {
	return func(c *gin.Context, tx *conform.Tx) error {
		err := h(c, tx)
		if errors.Is(err, conform.ErrFailed) && c.Writer.Size() <= 0 {
			_ = c.Error(err)
			return nil
		}
		return err
	}
}

// failures writes the answers to errors, after the handlers.
func failures(c *gin.Context) {
	c.Next()
	if len(c.Errors) > 0 && errors.Is(c.Errors.Last(), conform.ErrFailed) {
		c.String(http.StatusTeapot, "failed")
	}
}

func cors(c *gin.Context) {
	c.Header("Access-Control-Allow-Origin", c.GetHeader("Origin"))
	c.Header("Vary", "Origin")
}

func serve(t *testing.T, s *conformtest.Service[*conform.Tx], h func(c *gin.Context, tx *conform.Tx) error) string {
	t.Helper()
	router := gin.New()
	router.Use(cors, failures)
	for path, op := range map[string]*onceward.Operation{
		"/orders": conformtest.Orders, "/patient/orders": conformtest.Patient, "/orders/:id": conformtest.Update,
	} {
		router.Any(path, ginonce.Handle(s.Door, op, h))
	}
	router.Any(httponce.ContractPath, gin.WrapH(httponce.Contract(s.Door)))
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	return server.URL
}

func TestConform(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{})
	conformtest.Run(t, "ginonce", s.Target(serve(t, s, place(s))))
}

// The same, where the handler attaches its error to the context.
func TestConformAttachedErrors(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{})
	conformtest.Play(t, s.Target(serve(t, s, attach(place(s)))))
}
