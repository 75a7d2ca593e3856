// Package mysqlstore keeps onceward's records in MariaDB beside the business rows, through database/sql and
// github.com/go-sql-driver/mysql.
//
//	db, err := sql.Open("mysql", "user:password@tcp(host)/shop?multiStatements=true&interpolateParams=true")
//	err = mysqlstore.Migrate(ctx, db)
//	engine, err := onceward.New(mysqlstore.New(db), onceward.Options{})
//
// An attempt is one transaction of InnoDB at READ COMMITTED. It begins by inserting the record without its outcome: that row,
// which nobody else can insert until the transaction has ended, is the claim. It ends by adding the outcome and committing. A
// claim is never committed as such. A duplicate of a running attempt is refused at once by the row's lock; one that waits
// holds no connection and asks again, every 25 ms or so.
//
// # What it needs
//
// MariaDB 10.6 or later, with a binlog_format of MIXED or ROW. MySQL 8 is refused: it has no SET STATEMENT, and there was none
// to verify the store on. Of the data source name nothing is required but that the connections commit by themselves, as they
// do by default: times are read as numbers and values are sent as hexadecimal literals, so that parseTime, loc, charset,
// interpolateParams and clientFoundRows have no influence on the store, only on the works. With multiStatements=true an
// attempt needs no round trip more than a bare transaction (begin, the work's own, commit); without it four more. ParseURL sets
// it. An outcome has to fit twice into the server's max_allowed_packet; a larger one is rolled back.
//
// # What a work may do
//
// It gets a sqlstore.Tx that is dead once the work has returned. A statement that would end the transaction is refused with
// onceward.ErrTxEnded, and the work may go on: COMMIT, ROLLBACK, BEGIN, autocommit, and whatever commits implicitly (ALTER,
// CREATE, DROP and TRUNCATE TABLE, LOCK TABLES, GRANT, …), temporary tables apart. What may end it without saying so (CALL,
// EXECUTE, several statements in one text) is sent behind a savepoint; where that is gone afterwards every later statement is
// refused, nothing is saved, and the answer is onceward.ErrTxEnded. Savepoints are the work's to use.
//
// A deadlock rolls the whole transaction back in InnoDB, claim and all. The work's statement then fails with an error that
// matches onceward.ErrNotCommitted, every later statement is refused, and nothing is saved even if the work ignores it. The
// work is not run again by the store: the caller sends the command again, or an HTTP door answers 503 with Retry-After. A lock
// wait that is over (1205) fails with onceward.ErrUnavailable and takes back that statement alone.
//
// A statement checks the work's context before it starts and is interrupted at that context's deadline, but not when it is
// cancelled: the driver would break the connection, and the server would go on all the same.
//
// # Unknown commits
//
// A connection that breaks in the COMMIT leaves its end open. The engine claims the same command again: the insert fails for
// as long as the old transaction holds the row, and what it meets after that is final. A connection that the server does not
// see break holds its claim until Options.IdleTimeout.
//
// # Galera
//
// "make test-cluster" runs the store's suite and more on a cluster of three nodes. Locks are a node's own. Attempts of one
// command at two nodes both run, and the later one is rolled back with error 1213, at any of its statements or at its COMMIT:
// it is answered with the first one's outcome, or with onceward.ErrNotCommitted, and the retry finds that. So there is one
// effect, and a work may run in vain. With wsrep_sync_wait=7 in the data source name a node first applies what others have
// committed, so that this happens only to attempts that overlap.
//
// COMMIT is sent alone to a node, which costs an attempt two round trips: within a text of several statements MariaDB 10.11 was
// seen to report the COMMIT of a transaction that another node had aborted as done. Keep several statements in one text out of
// your own works there. An unknown commit is resolved truthfully at the node where it happened, and elsewhere only once it
// has arrived there: one that is still on its way may be reported as ErrNotCommitted, and the retry finds it. A node without
// a majority is onceward.ErrUnavailable.
//
// # Vitess
//
// The store does not run on Vitess: VTGate says that it is a MySQL, which Check refuses, and no server of it could be had for a
// test. Its SQL parser (vitess.io/vitess v0.24.4) was given the store's statements. It takes all but two, "SET STATEMENT … FOR"
// and "COMMIT AND NO CHAIN NO RELEASE" (and ROLLBACK), both of which the store needs as they are.
package mysqlstore
