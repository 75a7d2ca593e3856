package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/sqlstore"
)

const (
	createMariaDBOrders = `CREATE TABLE orders (id CHAR(36) CHARACTER SET ascii PRIMARY KEY, sku VARCHAR(100) NOT NULL, quantity INT NOT NULL, cents BIGINT NOT NULL) ENGINE = InnoDB`
	insertMariaDBOrder  = `INSERT INTO orders (id, sku, quantity, cents) VALUES (UUID(), ?, ?, ?)`
)

// MariaDBShop places orders in a private MariaDB server that keeps what it confirmed, with onceward and without. It is safe
// for concurrent use.
type MariaDBShop struct {
	server *dbtest.MariaDB
	db     *sql.DB
	engine *onceward.Engine[sqlstore.Tx]
	keys   atomic.Int64
}

// OpenMariaDBShop starts a server and opens a shop in it, with a pool of so many connections.
func OpenMariaDBShop(ctx context.Context, conns int) (*MariaDBShop, error) {
	if inMemory(os.TempDir()) {
		return nil, fmt.Errorf("bench: %s lies in memory, where a flush costs nothing: set TMPDIR to a folder on a disk", os.TempDir())
	}
	server, err := dbtest.NewMariaDB(dbtest.MariaDBOptions{Durable: true})
	if err != nil {
		return nil, err
	}
	s := &MariaDBShop{server: server}
	if err := s.open(ctx, conns); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: open the shop on MariaDB: %w", err), s.Close())
	}
	return s, nil
}

func (s *MariaDBShop) open(ctx context.Context, conns int) error {
	name, err := s.server.CreateDatabase()
	if err != nil {
		return err
	}
	config, err := mysqlstore.ParseURL(s.server.URL(name))
	if err != nil {
		return err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	s.db = sql.OpenDB(connector)
	s.db.SetMaxOpenConns(conns)
	s.db.SetMaxIdleConns(conns)
	if err := mysqlstore.Migrate(ctx, s.db); err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, createMariaDBOrders); err != nil {
		return err
	}
	s.engine, err = onceward.New(mysqlstore.New(s.db), onceward.Options{})
	return err
}

// Close ends the server.
func (s *MariaDBShop) Close() error {
	if s.db != nil {
		_ = s.db.Close()
	}
	return s.server.Close()
}

// Bare places an order in the caller's own transaction, its isolation said, as onceward says it.
func (s *MariaDBShop) Bare(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, insertMariaDBOrder, "BOOK", 2, 9900); err != nil {
		return err
	}
	return tx.Commit()
}

// Once places an order under a new key: the same insert, run by the engine.
func (s *MariaDBShop) Once(ctx context.Context) error {
	key := "8e03978e-40d5-43dd-bc93-" + strconv.FormatInt(1e11+s.keys.Add(1), 10)
	_, err := s.engine.Do(ctx, NewOrder(key), func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
		_, err := tx.ExecContext(ctx, insertMariaDBOrder, "BOOK", 2, 9900)
		return onceward.Outcome{Kind: "http", Data: answer()}, err
	})
	return err
}
