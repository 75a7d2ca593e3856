package sqlstore

import (
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// Columns are a record's columns that no dialect computes, in the order of Values and of Scan.
const Columns = "id, operation, tenant, principal, key, fingerprint_version, fingerprint_raw, fingerprint, " +
	"state, attempt, outcome_kind, outcome"

// Values are r's values for Columns.
func Values(r *onceward.Record) []any {
	data := r.Outcome.Data
	if data == nil {
		data = []byte{}
	}
	return []any{
		r.ID[:], r.Operation, r.Scope.Tenant, r.Scope.Principal, r.Key,
		int64(r.Fingerprint.Version), r.Fingerprint.Raw[:], r.Fingerprint.Canonical[:],
		string(r.State), r.Attempt[:], r.Outcome.Kind, data,
	}
}

// Scan reads a record from a row of Columns and, after them, four integers in microseconds, which the dialect computes:
// what is left of its life by the database's clock, how long it is kept after its life, and since 1970 its creation and
// its end.
func Scan(row interface{ Scan(into ...any) error }) (*onceward.Record, error) {
	var r onceward.Record
	var id, raw, canonical, attempt []byte
	var life, keep, created, expires int64
	err := row.Scan(
		&id, &r.Operation, &r.Scope.Tenant, &r.Scope.Principal, &r.Key,
		&r.Fingerprint.Version, &raw, &canonical,
		&r.State, &attempt, &r.Outcome.Kind, &r.Outcome.Data,
		&life, &keep, &created, &expires)
	if err != nil {
		return nil, err
	}
	if len(r.Outcome.Data) == 0 {
		r.Outcome.Data = nil
	}
	r.Life, r.Keep = time.Duration(life)*time.Microsecond, time.Duration(keep)*time.Microsecond
	r.CreatedAt, r.ExpiresAt = time.UnixMicro(created).UTC(), time.UnixMicro(expires).UTC()
	for _, part := range []struct {
		name       string
		into, from []byte
	}{{"id", r.ID[:], id}, {"raw digest", r.Fingerprint.Raw[:], raw}, {"canonical digest", r.Fingerprint.Canonical[:], canonical}, {"attempt", r.Attempt[:], attempt}} {
		if copy(part.into, part.from); len(part.from) != len(part.into) {
			return nil, fmt.Errorf("sqlstore: a record's %s has %d bytes, want %d", part.name, len(part.from), len(part.into))
		}
	}
	return &r, nil
}
