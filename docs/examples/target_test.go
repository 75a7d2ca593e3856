package examples

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"

	"github.com/onceward/onceward/httponce"
)

// setEmail needs no record either: to set a value to what it is already changes nothing. A toggle would be another matter.
// Who sends If-Match says which change he has seen, so that his late retry does not undo a newer one.
func setEmail(s *service) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		version, err := setEmailIn(r, s.db, r.FormValue("enabled") == "true")
		if err != nil {
			var answer *httponce.Answer
			if answer, _ = err.(*httponce.Answer); answer == nil {
				answer = httponce.Refuse(http.StatusServiceUnavailable, "Nothing is lost: send it again.")
			}
			answer.ServeHTTP(w, r)
			return
		}
		w.Header().Set("ETag", etag(version))
	}
}

func etag(version int) string { return fmt.Sprintf(`"%d"`, version) }

func setEmailIn(r *http.Request, db *sql.DB, enabled bool) (version int, _ error) {
	ctx := context.WithoutCancel(r.Context())
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	var present bool
	if err := tx.QueryRowContext(ctx, `SELECT email, version FROM preferences`).Scan(&present, &version); err != nil { // FOR UPDATE, on a server
		return 0, err
	}
	if err := httponce.IfMatch(r, etag(version)); err != nil || present == enabled {
		return version, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE preferences SET email = ?, version = version + 1`, enabled)
	if err != nil {
		return 0, err
	}
	return version + 1, tx.Commit()
}

func Example_targetValue() {
	s := start(`CREATE TABLE preferences (email INTEGER, version INTEGER); INSERT INTO preferences VALUES (1, 1)`)
	defer s.stop()
	s.mux.Handle("PUT /email", setEmail(s))

	s.send("PUT /email?enabled=false", "", `If-Match: "1"`)
	s.send("PUT /email?enabled=false", "") // repeated, it changes nothing
	s.send("PUT /email?enabled=true", "", `If-Match: "2"`)
	s.send("PUT /email?enabled=false", "", `If-Match: "1"`) // the first request again, late
	// Output:
	// 200 ETag: "2"
	// 200 ETag: "2"
	// 200 ETag: "3"
	// 412 precondition_failed
}
