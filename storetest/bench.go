package storetest

import "testing"

// Benchmark runs the suite's benchmarks as sub-benchmarks of b, each on a harness of its own that open makes.
func Benchmark[Tx any](b *testing.B, open func(b testing.TB) Harness[Tx]) {
	_ = open
}
