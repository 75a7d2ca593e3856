package storetest

import (
	"slices"
	"testing"
)

// test is one thing that every store does, or that a store with certain features does.
type test[Tx any] struct {
	name  string
	needs []Feature
	run   func(t *testing.T, f *fixture[Tx])
}

// Run runs the suite as subtests of t, each in parallel on a harness of its own that open makes. The tests that need
// one of lacks are reported as skipped.
func Run[Tx any](t *testing.T, open func(t testing.TB) Harness[Tx], lacks ...Feature) {
	topics := []struct {
		name  string
		tests []test[Tx]
	}{
		{"replay", replayTests[Tx]()},
		{"claim", claimTests[Tx]()},
		{"race", raceTests[Tx]()},
		{"failure", failureTests[Tx]()},
		{"cancel", cancelTests[Tx]()},
		{"expiry", expiryTests[Tx]()},
		{"sweep", sweepTests[Tx]()},
		{"find", findTests[Tx]()},
		{"join", joinTests[Tx]()},
		{"token", tokenTests[Tx]()},
		{"shadow", shadowTests[Tx]()},
		{"unknown", unknownTests[Tx]()},
	}
	for _, topic := range topics {
		t.Run(topic.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range topic.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					for _, feature := range test.needs {
						if slices.Contains(lacks, feature) {
							t.Skipf("lacked: %s", feature)
						}
					}
					test.run(t, &fixture[Tx]{Harness: open(t), lacks: lacks})
				})
			}
		})
	}
}
