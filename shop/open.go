package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/pgxstore"
	"github.com/onceward/onceward/sqlitestore"
)

// connectTimeout bounds the way to a database server.
const connectTimeout = 5 * time.Second

// Shop is the service on a database that it has opened.
type Shop struct {
	// Handler answers requests.
	Handler http.Handler
	work    func(context.Context)
	sweeper *onceward.Sweeper
	close   func() error
}

// Open opens a database (see KindOf), brings its tables up to date, and makes a shop on it. Close it in the end.
func Open(ctx context.Context, database string, options Options) (*Shop, error) {
	kind, err := KindOf(database)
	switch {
	case err != nil:
		return nil, err
	case kind == KindPostgres:
		return openPostgres(ctx, database, options.withDefaults())
	case kind == KindMySQL:
		return openMySQL(ctx, database, options.withDefaults())
	}
	return openSQLite(ctx, database, options.withDefaults())
}

// Run writes exports and sweeps the records whose time is over, until ctx ends.
func (s *Shop) Run(ctx context.Context) {
	var background sync.WaitGroup
	background.Go(func() { s.work(ctx) })
	background.Go(func() { _ = s.sweeper.Run(ctx) }) // its error is that of ctx
	background.Wait()
}

// Close closes the database. Requests must have ended.
func (s *Shop) Close() error { return s.close() }

// Drop removes a demo from a database: its tables and records from PostgreSQL or MariaDB, its file where it is SQLite; nothing of
// anybody else. There need not be one.
func Drop(ctx context.Context, database string) error {
	kind, err := KindOf(database)
	switch {
	case err != nil:
		return err
	case kind == KindSQLite:
		return dropSQLite(ctx, database)
	case kind == KindMySQL:
		db, err := ConnectMySQL(ctx, database)
		if err != nil {
			return err
		}
		return errors.Join(dropMySQL(ctx, db), db.Close())
	}
	pool, err := ConnectPostgres(ctx, database)
	if err != nil {
		return err
	}
	defer pool.Close()
	return dropPostgres(ctx, pool)
}

func openPostgres(ctx context.Context, url string, options Options) (*Shop, error) {
	pool, err := ConnectPostgres(ctx, url)
	if err != nil {
		return nil, err
	}
	shop, err := preparePostgres(ctx, pool, options)
	if err != nil {
		pool.Close()
	}
	return shop, err
}

func preparePostgres(ctx context.Context, pool *pgxpool.Pool, options Options) (*Shop, error) {
	// First the shop's own tables: where they are somebody else's, nothing is left behind.
	err := migratePostgres(ctx, pool)
	if err == nil {
		err = pgxstore.Migrate(ctx, pool)
	}
	if err == nil {
		err = pgxstore.Check(ctx, pool)
	}
	if err != nil {
		return nil, err
	}
	closePool := func() error { pool.Close(); return nil }
	return assemble(pgxstore.New(pool), Postgres(pool), options, closePool)
}

// ConnectPostgres makes a pool and reaches the server once, so that a wrong URL is found at the start; it waits at most five
// seconds, unless the URL's connect_timeout says otherwise.
func ConnectPostgres(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

func openMySQL(ctx context.Context, url string, options Options) (*Shop, error) {
	db, err := ConnectMySQL(ctx, url)
	if err != nil {
		return nil, err
	}
	shop, err := prepareMySQL(ctx, db, options)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return shop, nil
}

func prepareMySQL(ctx context.Context, db *sql.DB, options Options) (*Shop, error) {
	err := migrateMySQL(ctx, db)
	if err == nil {
		err = mysqlstore.Migrate(ctx, db)
	}
	if err == nil {
		err = mysqlstore.Check(ctx, db)
	}
	if err != nil {
		return nil, err
	}
	return assemble(mysqlstore.New(db), MySQL(db), options, db.Close)
}

func openSQLite(ctx context.Context, path string, options Options) (*Shop, error) {
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return nil, err
	}
	shop, err := prepareSQLite(ctx, store, path, options)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return shop, nil
}

func prepareSQLite(ctx context.Context, store *sqlitestore.Store, path string, options Options) (*Shop, error) {
	if err := migrateSQLite(ctx, path); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := store.Migrate(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	writer, err := openSchema(path)
	if err != nil {
		return nil, err
	}
	closeBoth := func() error { return errors.Join(writer.Close(), store.Close()) }
	return assemble(store, SQLite(store.Reader(), writer), options, closeBoth)
}

// assemble is the wiring that all databases share.
func assemble[Tx any](store onceward.Store[Tx], db Database[Tx], options Options, closeStore func() error) (*Shop, error) {
	engine, err := onceward.New(store, onceward.Options{Observer: onceward.SlogObserver(options.Logger), Front: options.Front})
	if err != nil {
		return nil, err
	}
	sweeper, err := engine.Sweeper(onceward.SweeperOptions{})
	if err != nil {
		return nil, err
	}
	handler, work, err := New(engine, db, options)
	if err != nil {
		return nil, err
	}
	return &Shop{Handler: handler, work: work, sweeper: sweeper, close: closeStore}, nil
}
