// Package postgres is what the stores on PostgreSQL share, whatever driver they use: the table, the statements on it, and
// what an SQLSTATE means. A statement stands here once, so that a record that one of them wrote is the other's too.
package postgres

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/onceward/onceward"
)

// The claim. The transaction's kind is said and not inherited: under another default isolation the snapshot could be
// older than the claim and miss the winner, and a standby has to refuse. The lock and the record are read by two
// statements: one that did both would read by a snapshot from before the lock.
const (
	Begin   = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`
	TryLock = `SELECT pg_try_advisory_xact_lock($1::bigint), now(), set_config('idle_in_transaction_session_timeout', $2::text, true)`

	// The time-out of the store's own wait is over before the work begins; what it was is kept meanwhile in a setting.
	LimitLock   = `SELECT set_config('onceward.lock_timeout', current_setting('lock_timeout'), true), set_config('lock_timeout', $1::text, true)`
	AwaitLock   = `SELECT pg_advisory_xact_lock($1::bigint)`
	UnlimitLock = `SELECT set_config('lock_timeout', current_setting('onceward.lock_timeout'), true)`
)

// BeginAndTryLock is Begin and TryLock in one text, for a driver that sends one statement at a time: with parameters it
// could not send both, without any it need not prepare them. SelectClaim reads what it found, in a statement of its own.
func BeginAndTryLock(id onceward.ID, idleTimeout time.Duration) string {
	return fmt.Sprintf(`%s; SELECT set_config('onceward.locked', pg_try_advisory_xact_lock(%d)::text, true), set_config('idle_in_transaction_session_timeout', '%s', true)`,
		Begin, LockKey(id), Milliseconds(idleTimeout))
}

// SelectClaim is SelectRecord after BeginAndTryLock: one row, whose record is null if there is none.
const SelectClaim = `SELECT current_setting('onceward.locked')::boolean, now(), record.* FROM (SELECT) claim LEFT JOIN (
` + SelectRecord + `) record ON true`

// LockKey is the advisory lock of an id. Two ids that share one would only take turns.
func LockKey(id onceward.ID) int64 { return int64(binary.BigEndian.Uint64(id[:8])) }

// Milliseconds is a time-out as PostgreSQL takes it: at least one millisecond, since none is no time-out.
func Milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", max(1, d.Milliseconds())) }

// The claim in a transaction of the caller's. The savepoint's name may be there already, from an attempt around this one:
// the innermost is meant, and each attempt takes its own away.
const (
	JoinLock   = `SELECT pg_try_advisory_xact_lock($1::bigint), now()`
	BeginPart  = `SAVEPOINT onceward_attempt`
	KeepPart   = `RELEASE SAVEPOINT onceward_attempt`
	CancelPart = `ROLLBACK TO SAVEPOINT onceward_attempt`
)

// SelectRecord reads a record; its life is measured by the clock at the reading, which a wait for the lock may have
// preceded.
const SelectRecord = `SELECT operation, tenant, principal, key, fingerprint_version, fingerprint_raw, fingerprint, state,
	outcome_kind, outcome, attempt, created_at, expires_at,
	(extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint
FROM onceward_record WHERE id = $1::uuid`

// InRecovery asks whether the server is a standby, whose records may be old.
const InRecovery = `SELECT pg_is_in_recovery()`

// The save.
const (
	// ReadUntouched comes before all that saves, which takes a transaction id where the work took none.
	ReadUntouched = `SELECT ` + untouched

	// DeleteRecord makes room in place of the expired record that the claim read, and of no other.
	DeleteRecord = `DELETE FROM onceward_record WHERE id = $1::uuid AND attempt = $2::uuid AND expires_at <= clock_timestamp()`

	// InsertRecord is a plain insert: a record that is there is an error, which the COMMIT after it cannot outlive. The
	// attempt is null, which its column refuses, in another transaction than the one that holds the claim: a work can
	// end that by SQL and begin another.
	InsertRecord = insertInto + `VALUES (` + values + `)`

	// InsertAndTell is InsertRecord together with ReadUntouched, for a driver that sends one statement at a time.
	InsertAndTell = `WITH before AS MATERIALIZED (SELECT ` + untouched + ` AS untouched)
` + insertInto + `SELECT ` + values + ` FROM before RETURNING (SELECT untouched FROM before)`

	// SameTransaction tells whether the transaction that began at $1 is still the present one.
	SameTransaction = `SELECT now() = $1::timestamptz`

	untouched  = `pg_current_xact_id_if_assigned() IS NULL`
	insertInto = `INSERT INTO onceward_record (id, attempt, created_at, expires_at, kept_until, fingerprint_version,
	operation, tenant, principal, key, fingerprint_raw, fingerprint, state, outcome_kind, outcome)
`
	values = `$1::uuid, CASE WHEN now() = $2::timestamptz THEN $3::uuid END, statement_timestamp(),
	statement_timestamp() + $4::bigint * interval '1 microsecond', statement_timestamp() + $5::bigint * interval '1 microsecond',
	$6::integer, $7::text, $8::text, $9::text, $10::text, $11::bytea, $12::bytea, $13::text, $14::text, $15::bytea`
)

// SweepRecords deletes what an attempt is not replacing at this moment. now() is one value for the statement, as the
// index needs it.
const SweepRecords = `DELETE FROM onceward_record WHERE id IN (
	SELECT id FROM onceward_record WHERE kept_until < now() - $1::bigint * interval '1 microsecond'
	ORDER BY kept_until LIMIT $2::bigint FOR UPDATE SKIP LOCKED)`

// CountOver counts what SweepRecords would delete without a grace, and tells in microseconds how long the first is over.
const CountOver = `SELECT count(*), COALESCE((extract(epoch FROM now() - min(kept_until)) * 1000000)::bigint, 0) FROM (
	SELECT kept_until FROM onceward_record WHERE kept_until < now() ORDER BY kept_until LIMIT $1::bigint) over`

// Statements are those that name the table: what a check prepares.
func Statements() []string {
	return []string{SelectRecord, InsertRecord, DeleteRecord, SweepRecords, CountOver}
}
