package examples

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// A broker delivers at least once. The key is the event's identity, and not that of its delivery. It may be kept longer than
// the broker keeps the event.
var orderChanged = &onceward.Operation{Name: "order-changed.v1", Retention: 14 * 24 * time.Hour}

type event struct {
	ID      string
	Order   string
	State   string
	Version int
}

// consume is what the broker calls. Acknowledge where it returns nil; at any error let the event come again. The version
// decides between two events that arrive in the wrong order: which one came first says nothing.
func consume(ctx context.Context, engine *onceward.Engine[sqlstore.Tx], e event) error {
	command := orderChanged.For(onceward.Scope{Principal: "orders-topic"}, e.ID, e)
	return engine.Once(ctx, command, func(ctx context.Context, tx sqlstore.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE orders SET state = ?, version = ? WHERE id = ? AND version < ?`, e.State, e.Version, e.Order, e.Version)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 { // late
			onceward.WroteNothing(ctx)
			return err
		}
		return nil
	})
}

func Example_consumer() {
	s := start(`CREATE TABLE orders (id TEXT PRIMARY KEY, state TEXT, version INTEGER); INSERT INTO orders VALUES ('911001', 'created', 1)`)
	defer s.stop()

	for _, e := range []event{
		{"e3", "911001", "shipped", 3},
		{"e2", "911001", "paid", 2}, // late
		{"e3", "911001", "shipped", 3},
	} {
		fmt.Println(consume(context.Background(), s.engine, e))
	}
	var state string
	must(0, s.db.QueryRow(`SELECT state FROM orders`).Scan(&state))
	fmt.Println(state)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// shipped
}
