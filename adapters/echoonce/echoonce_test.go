package echoonce_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/adapters/echoonce"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
)

func cors(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("Access-Control-Allow-Origin", c.Request().Header.Get("Origin"))
		c.Response().Header().Set("Vary", "Origin")
		return next(c)
	}
}

// newEcho answers ErrFailed after the handlers, as a service with its own errors does.
func newEcho() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if errors.Is(err, conform.ErrFailed) {
			_ = c.String(http.StatusTeapot, "failed")
			return
		}
		e.DefaultHTTPErrorHandler(err, c)
	}
	return e
}

func TestConform(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{})
	place := func(c echo.Context, tx *conform.Tx) error {
		var in conform.Order
		if err := c.Bind(&in); err != nil {
			return err
		}
		answer := s.Place(c.Request().Context(), tx, in)
		if answer.Final {
			return httponce.Conclude(answer.Status, answer.Body)
		}
		for name, value := range answer.Header {
			c.Response().Header().Set(name, value)
		}
		if answer.Status != 0 {
			if err := c.JSONBlob(answer.Status, answer.Body); err != nil {
				return err
			}
		}
		return answer.Err
	}
	e := newEcho()
	e.Use(cors)
	for path, op := range map[string]*onceward.Operation{
		"/orders": conformtest.Orders, "/patient/orders": conformtest.Patient, "/orders/:id": conformtest.Update,
	} {
		e.Any(path, echoonce.Handle(s.Door, op, place))
	}
	e.Any(httponce.ContractPath, echo.WrapHandler(httponce.Contract(s.Door)))
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	conformtest.Run(t, "echoonce", s.Target(server.URL))
}

type service struct {
	*conformtest.Service[*conform.Tx]
	t   *testing.T
	url string
}

func newService(t *testing.T, h func(c echo.Context, tx *conform.Tx) error, middlewares ...echo.MiddlewareFunc) *service {
	t.Helper()
	s := &service{Service: conformtest.New(t, httponce.Options{}), t: t}
	e := newEcho()
	e.Logger.SetOutput(io.Discard)
	e.Use(middlewares...)
	e.POST("/orders/:id", echoonce.Handle(s.Door, &onceward.Operation{Name: "order.v1"}, func(c echo.Context, tx *conform.Tx) error {
		if err := tx.Insert("row"); err != nil {
			return err
		}
		return h(c, tx)
	}))
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// wants sends the request and compares the answer; then it compares the rows.
func (s *service) wants(status int, body string, rows int) http.Header {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url+"/orders/7", strings.NewReader("{}"))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set(httponce.HeaderKey, "k")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != status || string(got) != body {
		s.t.Errorf("answered %d %q, want %d %q", response.StatusCode, got, status, body)
	}
	if n, _ := s.Effects(s.t.Context(), "row"); n != rows {
		s.t.Errorf("%d rows, want %d", n, rows)
	}
	return response.Header
}

// Echo's own handler compares the type of an error and asks nothing of what it wraps: it has to get the very error.
func TestEchoAnswersItsErrors(t *testing.T) {
	t.Parallel()
	conflict := echo.NewHTTPError(http.StatusConflict, "sold out")
	for name, c := range map[string]struct {
		handler func(c echo.Context, tx *conform.Tx) error
		status  int
		body    string
	}{
		"an HTTPError": {
			func(echo.Context, *conform.Tx) error { return conflict }, 409, `{"message":"sold out"}` + "\n",
		},
		"one that wraps the end of a context": {
			func(echo.Context, *conform.Tx) error {
				return echo.NewHTTPError(http.StatusGatewayTimeout, "bank").SetInternal(context.DeadlineExceeded)
			}, 504, `{"message":"bank"}` + "\n",
		},
		"after an answer": {
			func(c echo.Context, _ *conform.Tx) error {
				return errors.Join(c.String(201, "done"), conform.ErrFailed)
			}, 418, "failed",
		},
		"an error of which Echo knows nothing": {
			func(echo.Context, *conform.Tx) error { return errors.New("secret") }, 500, `{"message":"Internal Server Error"}` + "\n",
		},
		"a value that is no JSON": {
			func(c echo.Context, _ *conform.Tx) error { return c.JSON(201, func() {}) }, 500, `{"message":"Internal Server Error"}` + "\n",
		},
		"a refusal that is written": {
			func(c echo.Context, _ *conform.Tx) error { return c.String(422, "no") }, 422, "no",
		},
		"c.Error": {
			func(c echo.Context, _ *conform.Tx) error { c.Error(conflict); return nil }, 409, `{"message":"sold out"}` + "\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, c.handler)
			for range 2 {
				header := s.wants(c.status, c.body, 0)
				if header.Get(httponce.HeaderReplayed) != "" {
					t.Error("it is marked as a replay")
				}
			}
		})
	}
}

var errMapped = errors.New("mapped by a middleware")

// A middleware may answer a handler's error in its own way.
func TestMiddlewareMapsErrors(t *testing.T) {
	t.Parallel()
	s := newService(t, func(echo.Context, *conform.Tx) error { return errMapped }, func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := next(c); !errors.Is(err, errMapped) || c.Response().Committed {
				t.Errorf("the middleware got %v, committed %v", err, c.Response().Committed)
			}
			return c.String(http.StatusConflict, "mapped")
		}
	})
	s.wants(http.StatusConflict, "mapped", 0)
}

// The context is Echo's: what the handler sets is there afterwards, and its request and response are those of before.
func TestContextIsEchos(t *testing.T) {
	t.Parallel()
	s := newService(t, func(c echo.Context, _ *conform.Tx) error {
		c.Set("order", c.Param("id"))
		return c.String(http.StatusOK, httponce.CallFrom(c.Request().Context()).Key)
	}, func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			request, response := c.Request(), c.Response()
			response.Before(func() { response.Header().Set("Set-Cookie", "session=1") })
			err := next(c)
			if c.Request() != request || c.Response() != response {
				t.Error("after the handler: another request or response")
			}
			if response.Status != http.StatusOK || response.Size != 1 || !response.Committed {
				t.Errorf("after the handler: %d, %d bytes", response.Status, response.Size)
			}
			return err
		}
	})
	for range 2 {
		if header := s.wants(http.StatusOK, "k", 1); header.Get("Set-Cookie") != "session=1" {
			t.Error("what a middleware adds before the answer is missing")
		}
	}
}
