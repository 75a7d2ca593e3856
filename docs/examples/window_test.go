package examples

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/sqlstore"
)

// Two clicks within five seconds are one export, whoever of the tenant has clicked. Whoever brings a key means an export of his
// own, for a day. The second waits a moment for the first: without Wait it would be told 409 while that one runs.
var exportOrders = &onceward.Operation{
	Name: "export-orders.v1", Window: 5 * time.Second, Retention: 24 * time.Hour, Wait: time.Second, Per: onceward.Tenant,
}

type export struct {
	Month string `json:"month"`
}

func exportOnce(ctx context.Context, tx sqlstore.Tx, in export) (*httponce.Answer, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO exports (month, state) VALUES (?, 'running')`, in.Month) // a worker's to do
	if err != nil {
		return nil, err
	}
	id, err := result.LastInsertId()
	return &httponce.Answer{Status: http.StatusAccepted, Location: fmt.Sprintf("/exports/%d", id), Body: map[string]any{"id": id}}, err
}

func Example_window() {
	s := start(`CREATE TABLE exports (id INTEGER PRIMARY KEY, month TEXT, state TEXT)`)
	defer s.stop()
	s.mux.Handle("POST /exports", httponce.JSON(s.door, exportOrders, exportOnce))

	s.send("POST /exports", `{"month":"2026-12"}`)
	s.send("POST /exports", `{"month":"2026-12"}`)
	s.send("POST /exports", `{"month":"2026-11"}`)
	s.send("POST /exports", `{"month":"2026-12"}`, "Idempotency-Key: once-more")
	s.rows("exports")
	// Output:
	// 202 {"id":1}
	// 202 {"id":1} (replayed)
	// 202 {"id":2}
	// 202 {"id":3}
	// exports: 3
}
