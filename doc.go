// Package onceward makes a write happen once, however often it is asked for.
//
// A caller that timed out sends the same request again; the first result stands and is answered again. An [Engine]
// takes a [Command] (an operation, the caller's scope, a key and the command's meaning) through five steps:
//
//	identify   what is asked for: the record's id and the fingerprint of its meaning
//	claim      one attempt at a time holds the command, in one transaction of the caller's own database
//	run        the work, with that transaction as its argument
//	save       the record with the outcome, and the commit, in one go
//	replay     the outcome of the record, to every caller with the same meaning
//
// The claim, the business rows and the saved outcome are one transaction: after a crash there is everything or nothing.
// A work that returns nil is committed and recorded; an error or a panic rolls back, claim and all.
//
// The engine is generic over the store's transaction type, so that a work gets the real one: pgx.Tx from pgxstore,
// sqlstore.Tx from sqlitestore. Package httponce is the HTTP door, memstore the specification and the store for unit tests.
package onceward
