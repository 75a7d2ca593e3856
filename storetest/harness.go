package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// Harness is one fresh store for one test, and the means to look at it from outside. Everything that has to be closed
// or dropped at the test's end is registered with t.Cleanup by whoever makes it. A function whose comment names a
// feature is nil where the store lacks it. All functions are called from any goroutine and from several at once.
type Harness[Tx any] struct {
	// Store has no records, and its database an empty table of effects that takes any number of rows under one key.
	Store onceward.Store[Tx]
	// Another is a second store on the same database, with connections of its own, as another process has one.
	// Feature: Processes.
	Another func(t testing.TB) onceward.Store[Tx]

	// Write makes one effect: one row under key, through tx, under ctx.
	Write func(ctx context.Context, tx Tx, key string) error
	// Refused sends a statement that the database refuses (a duplicate row, a table that is not there) and returns its
	// error. Feature: Statements.
	Refused func(ctx context.Context, tx Tx) error
	// EndRaw ends the transaction behind the store's back, by the raw SQL statement COMMIT or ROLLBACK. Its error is the
	// store's refusal, if it can refuse. Feature: RawEnd.
	EndRaw func(ctx context.Context, tx Tx, statement string) error
	// Begin begins a transaction that the caller owns, for Join; commit or rollback is called once.
	Begin func(t testing.TB) (tx Tx, commit, rollback func() error)

	// Effects counts the committed effects under key.
	Effects func(t testing.TB, key string) int
	// Records counts the committed records, expired ones included.
	Records func(t testing.TB) int
	// Age moves the times of every record into the past, or the store's clock into the future.
	Age func(t testing.TB, by time.Duration)

	// Lose is a store on the same database whose next attempt loses its connection at the given point. What comes after
	// that attempt finds the database again. Feature: LostCommit.
	Lose func(t testing.TB, at LosePoint) onceward.Store[Tx]
	// Intrude commits r as a record without asking for the claim, as a process whose lock was lost would. It does not
	// wait for a running attempt. Feature: Arbiter.
	Intrude func(t testing.TB, r *onceward.Record)
}

// LosePoint is where an attempt loses its connection.
type LosePoint string

// The points.
const (
	LoseInWork       LosePoint = "in the work"                         // after the claim was won, before Save or Rollback
	LoseBeforeCommit LosePoint = "before the commit reaches the store" // nothing is committed
	LoseAfterCommit  LosePoint = "after the commit"                    // it is committed, and its answer lost
)

// Feature is something that a store may lack. The list is the documentation's table.
type Feature string

// The features.
const (
	// Processes: several processes use one database at once.
	Processes Feature = "several processes use one database"
	// ParallelAttempts: attempts on different keys run at the same time. Without it they take turns.
	ParallelAttempts Feature = "attempts on different keys run at the same time"
	// NoticesUntouched: Save knows that a work wrote nothing through its transaction.
	NoticesUntouched Feature = "a work that missed its transaction is noticed"
	// JoinCommitsWithCaller: a joined record stands if and only if the caller's transaction commits.
	JoinCommitsWithCaller Feature = "a joined record commits with the caller's transaction"
	// GuardedTx: what the work gets cannot commit or roll back, and is dead once the work has returned.
	GuardedTx Feature = "the work cannot end its transaction or use it later"
	// RawEnd: a work that ends its transaction by raw SQL is caught.
	RawEnd Feature = "a raw COMMIT or ROLLBACK in the work is caught"
	// Statements: the work sends statements that can fail in the database.
	Statements Feature = "statements can fail in the database"
	// LostCommit: a connection can be lost during the commit, and the end is resolved.
	LostCommit Feature = "a lost commit is resolved"
	// Arbiter: the record's key is unique in the database even where the claim's lock has failed.
	Arbiter Feature = "the key is unique where a lock has failed"
)

// Features are all of them, in the order of the documentation's table.
func Features() []Feature {
	return []Feature{
		Processes, ParallelAttempts, NoticesUntouched, JoinCommitsWithCaller, GuardedTx, RawEnd, Statements, LostCommit, Arbiter,
	}
}
