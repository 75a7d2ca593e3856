package examples

import (
	"database/sql"
	"fmt"
	"net/http"

	"github.com/onceward/onceward/httponce"
)

// setEmail needs no record either: to set a value to what it is already changes nothing. A toggle would be another matter.
// Who sends If-Match says which change he has seen, so that his late retry does not undo a newer one.
func setEmail(s *service) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := caller(r)
		if err != nil {
			reply(w, r, errWho, nil)
			return
		}
		version, err := setEmailOf(r, s.db, who.Principal, r.FormValue("enabled") == "true")
		reply(w, r, &httponce.Answer{Header: http.Header{"ETag": {etag(version)}}}, err)
	}
}

func etag(version int) string { return fmt.Sprintf(`"%d"`, version) }

func setEmailOf(r *http.Request, db *sql.DB, user string, enabled bool) (version int, _ error) {
	ctx := r.Context()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	var present bool
	if err := tx.QueryRowContext(ctx, `SELECT email, version FROM preferences WHERE user = ?`, user).Scan(&present, &version); err != nil { // FOR UPDATE, on a server
		return 0, err
	}
	if err := httponce.IfMatch(r, etag(version)); err != nil || present == enabled {
		return version, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE preferences SET email = ?, version = version + 1 WHERE user = ?`, enabled, user)
	if err != nil {
		return 0, err
	}
	return version + 1, tx.Commit()
}

func Example_targetValue() {
	s := start(`CREATE TABLE preferences (user TEXT, email INTEGER, version INTEGER); INSERT INTO preferences VALUES ('alice', 1, 1)`)
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
