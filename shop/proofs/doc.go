// Package proofs shows onceward's promises on the reference shop, from outside: over HTTP, on real databases, with the demo
// binary in processes of its own that are killed, cut off and restarted. What happened is counted in the database, not in the
// answers. There is no code but tests.
//
//	evidence_test.go   the fifteen tests of the checkout that survives a timeout (R2.19)
//	processes_test.go  several server processes on one database
//	death_test.go      server processes and PostgreSQL killed under load
//	network_test.go    the network cut before, within and after a COMMIT
//	hangup_test.go     a client that hangs up, at every point of the flow
//	works_test.go      works that fail, panic, leak and end their transaction
//	upgrade_test.go    old and new fingerprint rules side by side, expiry, durability settings
//	field_test.go      failures of other systems (F…), where it takes a database and a door to see them
//
// The table docs/proofs.md says which guarantee was broken by hand to see which of these tests fail.
package proofs
