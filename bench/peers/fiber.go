package main

import (
	"context"
	"errors"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/idempotency"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"
)

const fiberModule = "github.com/gofiber/fiber/v3"

// Fiber's middleware stores a response under its key when the handler has returned.
var (
	fiberMemory = peer{
		name: "Fiber, memory", module: fiberModule,
		how:  "`middleware/idempotency` with its defaults, responses and locks in the process's memory, called without a socket; the handler places the order in its own transaction",
		open: func(_ context.Context, s site) (*shop, error) { return s.fiber(idempotency.Config{}), nil },
	}
	fiberPostgres = peer{
		name: "Fiber, PostgreSQL", module: fiberModule,
		how: "the same with a `Storage` on the same pool, one statement to read and one to write, as Fiber's own storage for PostgreSQL has it; " +
			"locks are in memory, the only ones that Fiber brings",
		open: func(ctx context.Context, s site) (*shop, error) {
			if _, err := s.pool.Exec(ctx, createStorage); err != nil {
				return nil, err
			}
			return s.fiber(idempotency.Config{Storage: storage{s.pool}}), nil
		},
	}
)

func (s site) fiber(config idempotency.Config) *shop {
	config.KeyHeader = "Idempotency-Key"
	config.Lifetime = 24 * time.Hour
	app := fiber.New()
	app.Post("/orders", idempotency.New(config), func(c fiber.Ctx) error {
		var in newOrder
		if err := c.Bind().JSON(&in); err != nil {
			return err
		}
		body, err := s.placeBare(c, c.Get(config.KeyHeader), in.Quantity)
		if err != nil {
			return err
		}
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return c.Status(fiber.StatusCreated).Send(body)
	})
	handler := app.Handler()
	return &shop{close: func() { _ = app.Shutdown() }, order: func(_ context.Context, key string, quantity int) ([]byte, error) {
		var r fasthttp.RequestCtx
		r.Request.Header.SetMethod(fasthttp.MethodPost)
		r.Request.SetRequestURI("/orders")
		r.Request.Header.SetContentType("application/json")
		r.Request.Header.Set("Idempotency-Key", key)
		r.Request.SetBodyString(bodyOf(quantity))
		handler(&r)
		if status := r.Response.StatusCode(); status != fiber.StatusCreated {
			return nil, errStatus(status)
		}
		return r.Response.Body(), nil
	}}
}

const (
	createStorage = `CREATE TABLE IF NOT EXISTS fiber_responses (key text PRIMARY KEY, response bytea NOT NULL, expires bigint NOT NULL);
		CREATE INDEX IF NOT EXISTS fiber_responses_expires ON fiber_responses (expires)`
	selectStored = `SELECT response FROM fiber_responses WHERE key = $1 AND expires > $2`
	upsertStored = `INSERT INTO fiber_responses (key, response, expires) VALUES ($1, $2, $3)
		ON CONFLICT (key) DO UPDATE SET response = excluded.response, expires = excluded.expires`
	deleteStored = `DELETE FROM fiber_responses WHERE key = $1`
	deleteAll    = `TRUNCATE fiber_responses`
)

// storage implements fiber.Storage on PostgreSQL.
type storage struct{ pool *pgxpool.Pool }

// GetWithContext implements fiber.Storage.
func (s storage) GetWithContext(ctx context.Context, key string) (value []byte, err error) {
	err = s.pool.QueryRow(ctx, selectStored, key, time.Now().Unix()).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// SetWithContext implements fiber.Storage.
func (s storage) SetWithContext(ctx context.Context, key string, value []byte, life time.Duration) error {
	_, err := s.pool.Exec(ctx, upsertStored, key, value, time.Now().Add(life).Unix())
	return err
}

// DeleteWithContext implements fiber.Storage.
func (s storage) DeleteWithContext(ctx context.Context, key string) error {
	_, err := s.pool.Exec(ctx, deleteStored, key)
	return err
}

// ResetWithContext implements fiber.Storage.
func (s storage) ResetWithContext(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, deleteAll)
	return err
}

// Get implements fiber.Storage.
func (s storage) Get(key string) ([]byte, error) { return s.GetWithContext(context.Background(), key) }

// Set implements fiber.Storage.
func (s storage) Set(key string, value []byte, life time.Duration) error {
	return s.SetWithContext(context.Background(), key, value, life)
}

// Delete implements fiber.Storage.
func (s storage) Delete(key string) error { return s.DeleteWithContext(context.Background(), key) }

// Reset implements fiber.Storage.
func (s storage) Reset() error { return s.ResetWithContext(context.Background()) }

// Close implements fiber.Storage.
func (s storage) Close() error { return nil }
