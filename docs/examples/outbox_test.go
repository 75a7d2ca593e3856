package examples

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/sqlstore"
)

// An issue goes to a list once, not once a minute: it has a name, and needs no window.
var sendIssue = &onceward.Operation{Name: "send-issue.v1", Retention: 30 * 24 * time.Hour, Per: onceward.Tenant, Wait: time.Second}

type issue struct {
	List   string `json:"list"`
	Number string `json:"number"`
}

func issueKey(_ *http.Request, in issue) (string, error) {
	return onceward.KeyOf(in.List, in.Number), nil
}

// sendOnce writes down who is to get the issue; nothing leaves the database here. The unique key outlives the record.
func sendOnce(ctx context.Context, tx sqlstore.Tx, in issue) (*httponce.Answer, error) {
	tenant := httponce.CallFrom(ctx).Scope.Tenant
	result, err := tx.ExecContext(ctx, `INSERT INTO outbox (tenant, list, number, address) SELECT tenant, list, ?, address FROM readers
		WHERE tenant = ? AND list = ? ON CONFLICT DO NOTHING`, in.Number, tenant, in.List)
	if err != nil {
		return nil, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 { // sent long ago, or nobody reads it
		onceward.WroteNothing(ctx)
		return &httponce.Answer{Status: http.StatusAccepted}, err
	}
	return &httponce.Answer{Status: http.StatusAccepted}, nil
}

// deliver is what a worker does from time to time. The provider is called at least once, with a key that it deduplicates by: a
// worker that dies behind the call makes it again. How it went is for GET to say: the first answer was that it will be done.
func deliver(ctx context.Context, db *sql.DB, provider func(key, address string) error) error {
	rows, err := db.QueryContext(ctx, `SELECT id, address FROM outbox WHERE sent = 0 ORDER BY id LIMIT 100`)
	if err != nil {
		return err
	}
	defer rows.Close()
	waiting := map[int]string{}
	for rows.Next() {
		var id int
		var address string
		if err := rows.Scan(&id, &address); err != nil {
			return err
		}
		waiting[id] = address
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for id, address := range waiting {
		if err := provider(fmt.Sprint("outbox-", id), address); err != nil {
			return err // and again the next time
		}
		if _, err := db.ExecContext(ctx, `UPDATE outbox SET sent = 1 WHERE id = ?`, id); err != nil {
			return err
		}
	}
	return nil
}

func Example_outbox() {
	s := start(`CREATE TABLE readers (tenant TEXT, list TEXT, address TEXT); INSERT INTO readers VALUES ('acme', 'news', 'a@example.org');
		CREATE TABLE outbox (id INTEGER PRIMARY KEY, tenant TEXT, list TEXT, number TEXT, address TEXT, sent INTEGER DEFAULT 0,
			UNIQUE (tenant, list, number, address))`)
	defer s.stop()
	s.mux.Handle("POST /issues", httponce.JSONBy(s.door, sendIssue, issueKey, sendOnce))

	s.send("POST /issues", `{"list":"news","number":"51"}`)
	s.send("POST /issues", `{"list":"news","number":"51"}`)
	must(s.db.Exec(`DELETE FROM onceward_record`)) // long after
	s.send("POST /issues", `{"list":"news","number":"51"}`)
	mail := func(key, address string) error { fmt.Println(key, address); return nil }
	for range 2 {
		must(0, deliver(context.Background(), s.db, mail))
	}
	// Output:
	// 202
	// 202 (replayed)
	// 202
	// outbox-1 a@example.org
}
