package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// setPreference is for Options.Authorize: a value that is set to what it is already needs no record (R3.4).
var setPreference = &onceward.Operation{Name: "set-preference.v1"}

// emailReason is why a coupon is given: once to a user, however often he switches e-mail on.
const emailReason = "email-notifications"

var errNoUser = refuse(http.StatusNotFound, "user_unknown", "There is no such user",
	"A caller sees and sets his own preferences; his id is his name.")

// preference is the body of PUT /users/{id}/preferences/email-notifications, and the answer.
type preference struct {
	Enabled bool `json:"enabled"`
}

// UnmarshalJSON refuses what sets nothing, and names what is wrong.
func (p *preference) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	p.Enabled = body.boolean("enabled")
	return body.err()
}

// setEmail is PUT /users/{id}/preferences/email-notifications. The row's lock makes comparing the version and setting the
// value one step.
func (s *service[Tx]) setEmail(ctx context.Context, tx Tx, r *http.Request, caller onceward.Scope, in preference) (*httponce.Answer, error) {
	if r.PathValue("id") != caller.Principal {
		return nil, errNoUser
	}
	enabled, version, err := s.lockEmail(ctx, tx, caller)
	if err == nil {
		err = httponce.IfMatch(r, versionTag(version))
	}
	if err == nil && enabled != in.Enabled {
		version++
		err = s.switchEmail(ctx, tx, caller, in.Enabled, version)
	}
	if err != nil {
		return nil, err
	}
	return &httponce.Answer{Header: http.Header{"Etag": {versionTag(version)}}, Body: in}, nil
}

// lockEmail reads what the caller has set and keeps it until tx has ended. A user without a row wants e-mail: the row is
// made as it was meant.
func (s *service[Tx]) lockEmail(ctx context.Context, tx Tx, caller onceward.Scope) (enabled bool, version int64, err error) {
	for range 2 { // the second time it is there
		err = s.db.Row(ctx, tx, `SELECT email_notifications, version FROM preferences WHERE tenant = ? AND principal = ?`, caller.Tenant, caller.Principal).
			Scan(&enabled, &version)
		if !errors.Is(err, sql.ErrNoRows) {
			return enabled, version, err
		}
		if _, err = s.db.Insert(ctx, tx, "preferences", "tenant, principal, email_notifications, version", caller.Tenant, caller.Principal, true, 0); err != nil {
			return false, 0, err
		}
	}
	return false, 0, errors.New("shop: a row that was made is not there")
}

// switchEmail changes the value, and gives a coupon the first time that e-mail is switched on.
func (s *service[Tx]) switchEmail(ctx context.Context, tx Tx, caller onceward.Scope, enabled bool, version int64) error {
	_, err := s.db.Exec(ctx, tx, `UPDATE preferences SET email_notifications = ?, version = ? WHERE tenant = ? AND principal = ?`,
		enabled, version, caller.Tenant, caller.Principal)
	if err != nil || !enabled {
		return err
	}
	id, err := newID()
	if err != nil {
		return err
	}
	_, err = s.db.Insert(ctx, tx, "coupons", "id, tenant, principal, campaign, reason", id, caller.Tenant, caller.Principal, "welcome", emailReason)
	return err
}

// getEmail answers GET on the same path.
func (s *service[Tx]) getEmail(w http.ResponseWriter, r *http.Request, caller onceward.Scope) error {
	if r.PathValue("id") != caller.Principal {
		return errNoUser
	}
	present, version := preference{Enabled: true}, int64(0)
	err := s.db.Read(r.Context(), func(row Scanner) error { return row.Scan(&present.Enabled, &version) },
		`SELECT email_notifications, version FROM preferences WHERE tenant = ? AND principal = ?`, caller.Tenant, caller.Principal)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", versionTag(version))
	writeJSON(w, http.StatusOK, "application/json", present)
	return nil
}

func versionTag(version int64) string { return fmt.Sprintf(`"%d"`, version) }
