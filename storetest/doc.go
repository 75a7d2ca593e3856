// Package storetest is the suite that every onceward.Store has to pass: what it asserts is the store's specification.
// A store is used here as an application uses it, through an engine, and looked at from outside, through the Harness.
//
//	func TestStore(t *testing.T)      { storetest.Run(t, open, storetest.Processes) }
//	func BenchmarkStore(b *testing.B) { storetest.Benchmark(b, open) }
//
// What a store lacks is said as a Feature; its tests are then reported as skipped. A store lacks nothing else.
package storetest
