// Package sqlitestore keeps onceward's records in a SQLite file, beside the business rows: the embedded default, in pure
// Go (modernc.org/sqlite).
//
//	store, err := sqlitestore.Open(ctx, "shop.db", sqlitestore.Options{})
//	err = store.Migrate(ctx)
//	engine, err := onceward.New(store, onceward.Options{})
//
// One connection writes, and only the store has it: works run one at a time, in turn, each in its own BEGIN IMMEDIATE …
// COMMIT. The application reads through [Store.Reader] and writes in its works. Its own tables, and writes without a
// command, go through a *sql.DB that it opens itself with [Source]; they take their turn by SQLite's lock on the file. An engine's Do inside a work waits for
// the turn that its own caller has, until Options.QueueTimeout ends it: use Join there.
//
// # What a work may do
//
// It gets a sqlstore.Tx that is dead once the work has returned. Statements that would end the transaction (COMMIT,
// ROLLBACK, and what names the store's savepoints) are refused with onceward.ErrTxEnded, and the work may go on. Where
// SQLite itself ends it, because the work's SQL says so (INSERT OR ROLLBACK, RAISE(ROLLBACK)), every later statement is
// refused, nothing is saved, and the answer is onceward.ErrTxEnded, even if the work has ignored all errors. A full disk
// and an interrupt end a transaction too; then nothing is saved either, and a retry runs the work again. Savepoints of
// other names are the work's to use. Refused is also what would stay on the connection for the next work: ATTACH, DETACH,
// temporary tables, and every PRAGMA that is not on a short list of harmless ones.
//
// A statement checks the work's context before it starts and is interrupted at that context's deadline, but not when it
// is cancelled: in SQLite an interrupted write rolls back the whole transaction, so that a caller who hangs up in the
// middle of the last INSERT would undo a work that is as good as done. Reading on in rows cannot be interrupted.
//
// # Several processes
//
// Any number of processes may have the file open; the record's primary key and SQLite's lock on the file decide. But
// SQLite's lock is not fair: under load a process is told SQLITE_BUSY after Options.BusyTimeout, which is an
// onceward.ErrUnavailable, and should come again. One server process a file is the intended use. The file must be on a
// local disk: the write-ahead log does not work across a network.
//
// # Power loss
//
// The log is in WAL mode with synchronous=FULL: a commit returns after its fsync (on macOS F_FULLFSYNC), so that an
// answered command outlives the power, as far as the disk keeps what it has confirmed. A virtual disk or a drive with a
// volatile cache that ignores flushes breaks that promise, for every database. Back up with VACUUM INTO, or copy the file
// while no process has it open; a copy of the file alone, without its -wal, may lack the last commits. The file and its
// log stay where they are while the store is open: once one of them was deleted or replaced, as by a restored backup,
// nothing is committed any more, and every attempt is an onceward.ErrUnavailable.
package sqlitestore
