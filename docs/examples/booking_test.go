package examples

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/sqlstore"
)

var bookRoom = &onceward.Operation{Name: "book-room.v1", Retention: 24 * time.Hour, Wait: time.Second}

type booking struct {
	Room  string `json:"room"`
	Night string `json:"night"`
}

// bookOnce keeps the client's key in the row as well. A conflict is then either this request's own, whose record is gone, or
// somebody's who has the room. An INSERT that fails instead of doing nothing would end the transaction on PostgreSQL.
func bookOnce(ctx context.Context, tx sqlstore.Tx, in booking) (*httponce.Answer, error) {
	call := httponce.CallFrom(ctx)
	booked := httponce.Created("/bookings/"+in.Room+"/"+in.Night, in)
	result, err := tx.ExecContext(ctx, `INSERT INTO bookings (tenant, guest, request, room, night) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		call.Scope.Tenant, call.Scope.Principal, call.Key, in.Room, in.Night)
	if err != nil {
		return nil, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return booked, err
	}
	var first booking
	err = tx.QueryRowContext(ctx, `SELECT room, night FROM bookings WHERE tenant = ? AND guest = ? AND request = ?`,
		call.Scope.Tenant, call.Scope.Principal, call.Key).Scan(&first.Room, &first.Night)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return httponce.Refuse(http.StatusConflict, httponce.Problem{Code: "room_taken"}), nil
	case err == nil && first != in:
		return nil, onceward.ErrKeyReused
	}
	onceward.WroteNothing(ctx)
	return booked, err
}

func Example_booking() {
	s := start(`CREATE TABLE bookings (tenant TEXT, guest TEXT, request TEXT, room TEXT, night TEXT,
		UNIQUE (tenant, guest, request), UNIQUE (tenant, room, night))`)
	defer s.stop()
	s.mux.Handle("POST /bookings", httponce.JSON(s.door, bookRoom, bookOnce))

	s.send("POST /bookings", `{"room":"12","night":"2026-12-24"}`, "Idempotency-Key: b-1")
	s.send("POST /bookings", `{"room":"12","night":"2026-12-24"}`, "Idempotency-Key: b-1")
	s.send("POST /bookings", `{"room":"12","night":"2026-12-24"}`, "Idempotency-Key: b-2") // another guest, or the same one who forgot
	must(s.db.Exec(`DELETE FROM onceward_record`))                                         // long after: the record is gone
	s.send("POST /bookings", `{"room":"12","night":"2026-12-24"}`, "Idempotency-Key: b-1")
	s.send("POST /bookings", `{"room":"13","night":"2026-12-24"}`, "Idempotency-Key: b-1")
	s.rows("bookings")
	// Output:
	// 201 {"room":"12","night":"2026-12-24"}
	// 201 {"room":"12","night":"2026-12-24"} (replayed)
	// 409 room_taken
	// 201 {"room":"12","night":"2026-12-24"}
	// 422 key_reused
	// bookings: 1
}
