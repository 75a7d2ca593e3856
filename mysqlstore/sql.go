package mysqlstore

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// The store's statements carry their values as hexadecimal literals: no parameter of the data source name, no character
// set and no SQL mode gives them another meaning, and no round trip goes into preparing them.

const (
	table = "onceward_record"

	// now is the one clock: the server's, in UTC whatever the session's zone, the same throughout a statement.
	now = "UTC_TIMESTAMP(6)"

	begin    = "START TRANSACTION READ WRITE"
	rollback = "ROLLBACK AND NO CHAIN NO RELEASE" // whatever the session's completion_type
	commit   = "COMMIT AND NO CHAIN NO RELEASE"

	// restore gives the session the time-out back that it had before the claim.
	restore = "SET SESSION idle_transaction_timeout = @onceward_idle"

	// checkSaved follows saveRecord, and restores. The sum overflows, which is an error in every SQL mode and keeps the COMMIT
	// from being reached, where not exactly one row was saved.
	// commitSaved ends an attempt behind saveRecord. The sum overflows, which is an error in every SQL mode and keeps the
	// COMMIT from being reached, where not exactly one row was saved.
	checkSaved = "SET @onceward_saved = ~0 + (ROW_COUNT() <> 1), SESSION idle_transaction_timeout = @onceward_idle"

	// nowait lets a statement fail at once, with codeLockTimeout, where another transaction holds a lock that it needs.
	nowait = "SET STATEMENT innodb_lock_wait_timeout = 0 FOR "

	// writable is an expression's value, or NULL, which its column refuses, on a server that takes no writes from others: one
	// who may write all the same must not.
	writable = "IF(@@global.read_only, NULL, %s)"
)

// columns are sqlstore's; key is a reserved word here.
var columns = strings.Replace(sqlstore.Columns, " key,", " `key`,", 1)

// recordSQL is what a record is read with: sqlstore's columns, its four numbers in microseconds, and whether the server
// takes no writes.
var recordSQL = "SELECT " + columns + ", TIMESTAMPDIFF(MICROSECOND, " + now + ", expires_at), TIMESTAMPDIFF(MICROSECOND, expires_at, kept_until), " +
	"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', created_at), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', expires_at), " +
	"@@global.read_only FROM " + table + " WHERE id = "

func selectRecord(id onceward.ID) string { return recordSQL + literal(id[:]) }

// selectStanding reads the latest record, whatever the transaction's snapshot.
func selectStanding(id onceward.ID) string { return selectRecord(id) + " LOCK IN SHARE MODE" }

// prepare sets the next transaction's isolation level, which is said and not inherited, and how long it may be silent.
func prepare(idle time.Duration) string {
	return fmt.Sprintf("SET @onceward_idle = @@idle_transaction_timeout, SESSION idle_transaction_timeout = %d, @@tx_isolation = 'READ-COMMITTED'",
		int64(idle/time.Second))
}

// insertClaim is the claim: a row that nobody else can insert until this transaction has ended. Its times are over, so
// that one which is committed by mistake is in nobody's way.
func insertClaim(want *onceward.Record) string {
	claim := *want
	claim.State = onceward.StateRunning
	values := make([]string, 0, 16)
	for _, value := range sqlstore.Values(&claim) {
		values = append(values, valueOf(value))
	}
	values[attemptColumn] = fmt.Sprintf(writable, values[attemptColumn])
	return nowait + "INSERT INTO " + table + " (" + columns + ", created_at, expires_at, kept_until) VALUES (" +
		strings.Join(values, ", ") + ", " + now + ", " + now + ", " + now + ")"
}

// attemptColumn is the place of attempt among the columns.
const attemptColumn = 9

// takeRecord is the claim where a record is there whose time is over, or a claim that was committed by mistake. The rule
// is in the statement, so that it holds at the moment of taking.
func takeRecord(want *onceward.Record) string {
	return nowait + "UPDATE " + table + " SET attempt = " + fmt.Sprintf(writable, literal(want.Attempt[:])) + ", state = 'running' WHERE id = " + literal(want.ID[:]) +
		" AND (state = 'running' OR expires_at <= " + now + " - " + microseconds(want.Keep) + ")"
}

// saveRecord makes the claim the record. Its life counts from this statement.
func saveRecord(want *onceward.Record, o onceward.Outcome) string {
	return "UPDATE " + table + " SET fingerprint_version = " + fmt.Sprint(int64(want.Fingerprint.Version)) +
		", fingerprint_raw = " + literal(want.Fingerprint.Raw[:]) + ", fingerprint = " + literal(want.Fingerprint.Canonical[:]) +
		", state = " + literal([]byte(want.Saved(o).State)) + ", outcome_kind = " + literal([]byte(o.Kind)) + ", outcome = " + literal(o.Data) +
		", created_at = " + now + ", expires_at = " + now + " + " + microseconds(want.Life) +
		", kept_until = " + now + " + " + microseconds(want.Life+want.Keep) + " WHERE " + isClaim(want)
}

// deleteClaim removes a claim that a work has committed by itself.
func deleteClaim(want *onceward.Record) string {
	return nowait + "DELETE FROM " + table + " WHERE " + isClaim(want)
}

// selectClaim finds the claim in the transaction that holds it, and nowhere else.
func selectClaim(want *onceward.Record) string {
	return "SELECT 1 FROM " + table + " WHERE " + isClaim(want)
}

func isClaim(want *onceward.Record) string {
	return "id = " + literal(want.ID[:]) + " AND attempt = " + literal(want.Attempt[:]) + " AND state = 'running'"
}

func valueOf(value any) string {
	switch v := value.(type) {
	case string:
		return literal([]byte(v))
	case []byte:
		return literal(v)
	}
	return fmt.Sprint(value) // a number
}

func literal(b []byte) string {
	text := make([]byte, 0, 3+hex.EncodedLen(len(b)))
	text = append(text, "X'"...)
	text = hex.AppendEncode(text, b)
	return string(append(text, '\''))
}

// selectOver locks records that are kept no longer, the oldest first, and none that another transaction has locked.
func selectOver(grace time.Duration, limit int) string {
	return fmt.Sprintf("SELECT id, @@global.read_only FROM %s WHERE kept_until < %s - %s ORDER BY kept_until LIMIT %d FOR UPDATE SKIP LOCKED",
		table, now, microseconds(grace), limit)
}

// countOver counts, up to limit, the records that are kept no longer, and how long the first has been over.
func countOver(limit int) string {
	return fmt.Sprintf("SELECT COUNT(*), COALESCE(TIMESTAMPDIFF(MICROSECOND, MIN(kept_until), %[1]s), 0) FROM "+
		"(SELECT kept_until FROM %[2]s WHERE kept_until < %[1]s ORDER BY kept_until LIMIT %[3]d) over_", now, table, limit)
}
