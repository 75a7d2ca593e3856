package shop

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// bodyBytesMax bounds a request's body, which has a few members.
const bodyBytesMax = 64 << 10

// readTimeout bounds a read of orders.
const readTimeout = 5 * time.Second

// Options of a shop. Callers is required.
type Options struct {
	// Callers tells whom a bearer token stands for. Required: DemoCallers, or Tokens.
	Callers Callers
	// Authorize is asked on every write, retries included, before anything that depends on a record is answered; its
	// error is answered with 403. Defaults to nil: whoever is known may.
	Authorize func(*http.Request, onceward.Command) error
	// Front is asked before the database (see onceward.Options). Defaults to none.
	Front onceward.Front
	// QuoteLife is how long a quote stands, of 1 s to 24 h. Defaults to five minutes.
	QuoteLife time.Duration
	// Logger is told what goes wrong, and by Open what the engine does. Keys and payloads are never logged. Defaults to
	// none.
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.QuoteLife == 0 {
		o.QuoteLife = QuoteLifeDefault
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// service is the shop on any database.
type service[Tx any] struct {
	engine  *onceward.Engine[Tx]
	db      Database[Tx]
	options Options
	confirm *onceward.Operation // whose tokens quotes have
	wake    chan struct{}       // for the worker; holds one
}

// New is the shop's HTTP interface, on an engine and the database that its records are in.
// What goes on in the background, the writing of exports, is done by work, until its context ends.
func New[Tx any](engine *onceward.Engine[Tx], db Database[Tx], options Options) (handler http.Handler, work func(context.Context), _ error) {
	if options.Callers == nil || db == nil || engine == nil {
		return nil, nil, errors.New("shop: New needs an engine, a database and Options.Callers")
	}
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, nil, err
	}
	s := &service[Tx]{engine: engine, db: db, options: options, confirm: confirmQuote(options.QuoteLife), wake: make(chan struct{}, 1)}
	door := httponce.Options{
		Scope:        s.options.Callers.scopeOf,
		Authorize:    options.Authorize,
		Report:       s.report,
		BodyBytesMax: bodyBytesMax,
	}
	d, err := newDoors(engine, door)
	if err != nil {
		return nil, nil, err
	}
	return s.routes(d), s.work, nil
}

// NewServer is an HTTP server with bounds on what a connection may take: a slow or silent peer does not hold it for ever.
// An answer may take as long as the engine allows a work, its commit and the resolution of an unknown one.
func NewServer(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      75 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    128 << 10, // so that a key that is much too long is told so
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}
