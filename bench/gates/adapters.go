package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/gofiber/fiber/v3"
	"github.com/labstack/echo/v4"
	"github.com/valyala/fasthttp"

	"github.com/onceward/onceward/adapters/echoonce"
	"github.com/onceward/onceward/adapters/fiberonce"
	"github.com/onceward/onceward/adapters/ginonce"
	"github.com/onceward/onceward/bench"
	"github.com/onceward/onceward/httponce"
)

// adapters compares each with the plain door in the same framework, as the framework itself takes an http.Handler. Fiber
// takes one in a goroutine of its own, whose time would not be seen: there it is the plain door without Fiber, and Fiber
// without the door.
var adapters = trial{
	gates: []gate{
		{name: "ginonce beside the plain door in Gin", unit: " µs", decimals: 1, most: true, need: 2, aim: 1},
		{name: "echoonce beside the plain door in Echo", unit: " µs", decimals: 1, most: true, need: 2, aim: 1},
		{name: "fiberonce beside the plain door in Fiber", unit: " µs", decimals: 1, most: true, need: 2, aim: 1},
	},
	measure: func(ctx context.Context, l *lab) (figures []figure, _ error) {
		body := bench.CartJSON()
		for _, frame := range []func(body []byte) (sides, error){inGin, inEcho, inFiber} {
			s, err := frame(body)
			if err != nil {
				return nil, err
			}
			extra, err := l.extra(ctx, s)
			if err != nil {
				return nil, err
			}
			figures = append(figures, figure{bench.Median(extra), spread(extra, "%.1f") + "; first requests of 1 KiB JSON, processor time of the thread"})
		}
		return figures, nil
	},
}

// sides are an adapter, and what does the same without it.
type sides struct {
	adapter func(context.Context, int) error
	without []func(context.Context, int) error
}

// extra is what the adapter takes longer, in microseconds, round for round.
func (l *lab) extra(ctx context.Context, s sides) ([]float64, error) {
	took := func(op func(context.Context, int) error) (float64, error) {
		rate, err := bench.Alone(l.window/4, op)(ctx)
		return microsPerSecond / rate, err
	}
	const perRound = 1e9 // requests, at most: their keys are no earlier round's
	values := make([]float64, l.rounds)
	for i := range values {
		from := perRound * (i + 1)
		later := func(op func(context.Context, int) error) func(context.Context, int) error {
			return func(ctx context.Context, n int) error { return op(ctx, from+n) }
		}
		var err error
		if values[i], err = took(later(s.adapter)); err != nil {
			return nil, err
		}
		for _, op := range s.without {
			micros, err := took(later(op))
			if err != nil {
				return nil, err
			}
			values[i] -= micros
		}
	}
	return values, nil
}

func inGin(body []byte) (s sides, err error) {
	gin.SetMode(gin.ReleaseMode)
	serve := func(handle func(*httponce.Door[bench.NoTx]) gin.HandlerFunc) (func(context.Context, int) error, error) {
		door, err := newDoor()
		if err != nil {
			return nil, err
		}
		engine := gin.New()
		engine.POST("/orders", handle(door))
		return requests(engine, body, false), nil
	}
	s.adapter, err = serve(func(door *httponce.Door[bench.NoTx]) gin.HandlerFunc {
		return ginonce.Handle(door, doorOperation, func(c *gin.Context, _ bench.NoTx) error {
			c.Header("Content-Type", "application/json")
			c.Status(http.StatusCreated)
			_, err := io.Copy(c.Writer, c.Request.Body)
			return err
		})
	})
	if err != nil {
		return s, err
	}
	plain, err := serve(func(door *httponce.Door[bench.NoTx]) gin.HandlerFunc {
		return gin.WrapH(door.Handle(doorOperation, copied))
	})
	s.without = append(s.without, plain)
	return s, err
}

func inEcho(body []byte) (s sides, err error) {
	serve := func(handle func(*httponce.Door[bench.NoTx]) echo.HandlerFunc) (func(context.Context, int) error, error) {
		door, err := newDoor()
		if err != nil {
			return nil, err
		}
		e := echo.New()
		e.POST("/orders", handle(door))
		return requests(e, body, false), nil
	}
	s.adapter, err = serve(func(door *httponce.Door[bench.NoTx]) echo.HandlerFunc {
		return echoonce.Handle(door, doorOperation, func(c echo.Context, _ bench.NoTx) error {
			return c.Stream(http.StatusCreated, "application/json", c.Request().Body)
		})
	})
	if err != nil {
		return s, err
	}
	plain, err := serve(func(door *httponce.Door[bench.NoTx]) echo.HandlerFunc {
		return echo.WrapHandler(door.Handle(doorOperation, copied))
	})
	s.without = append(s.without, plain)
	return s, err
}

func inFiber(body []byte) (s sides, err error) {
	door, err := newDoor()
	if err != nil {
		return s, err
	}
	plain, err := newDoor()
	if err != nil {
		return s, err
	}
	serve := func(handler fiber.Handler) func(context.Context, int) error {
		app := fiber.New()
		app.Post("/orders", handler)
		return fasthttpRequests(app.Handler(), body)
	}
	copies := func(c fiber.Ctx) error {
		c.Set("Content-Type", "application/json")
		return c.Status(http.StatusCreated).Send(c.Body())
	}
	return sides{
		adapter: serve(fiberonce.Handle(door, doorOperation, func(c fiber.Ctx, _ bench.NoTx) error { return copies(c) })),
		without: []func(context.Context, int) error{serve(copies), requests(plain.Handle(doorOperation, copied), body, false)},
	}, nil
}

// fasthttpRequests is requests for the server under Fiber.
func fasthttpRequests(handler fasthttp.RequestHandler, body []byte) func(context.Context, int) error {
	return func(_ context.Context, i int) error {
		var c fasthttp.RequestCtx
		c.Init(&fasthttp.Request{}, nil, nil)
		c.Request.Header.SetMethod(http.MethodPost)
		c.Request.SetRequestURI("/orders")
		c.Request.Header.SetContentType("application/json")
		c.Request.Header.Set(httponce.HeaderKey, "8e03978e-40d5-43dd-bc93-"+strconv.Itoa(1e11+i))
		c.Request.SetBody(body)
		handler(&c)
		if status := c.Response.StatusCode(); status != http.StatusCreated || len(c.Response.Body()) != len(body) {
			return fmt.Errorf("request %d was answered with %d, %d bytes: %.200q", i, status, len(c.Response.Body()), c.Response.Body())
		}
		return nil
	}
}
