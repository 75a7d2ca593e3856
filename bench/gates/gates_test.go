package main

import (
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestGates measures every gate in a moment, so that none rots; how fast it was is not judged.
func TestGates(t *testing.T) {
	var out strings.Builder
	l := &lab{rounds: 2, window: 20 * time.Millisecond, requests: 40}
	if err := l.run(t.Context(), &out, "."); err != nil && err.Error() != errMissed.Error() {
		t.Fatal(err)
	}
	for _, trial := range trials {
		for _, g := range trial.gates {
			if strings.Count(out.String(), g.name) != 2 {
				t.Errorf("%s: want a line in the table and one that tells how it was measured", g.name)
			}
		}
	}
	t.Log("\n" + out.String())
}

// TestGateIsJudgedAsShown fails on a figure that reads like the one needed and misses it, or the other way round.
func TestGateIsJudgedAsShown(t *testing.T) {
	for _, c := range []struct {
		most        bool
		need, value float64
		shown       string
		met         bool
	}{
		{false, 0.58, 0.58, "0.58", true},
		{false, 0.58, 0.5799, "0.57", false},
		{false, 0.58, 0.586, "0.58", true},
		{true, 15, 15, "15.00", true},
		{true, 15, 15.001, "15.01", false},
		{true, 0, 0.0001, "0.01", false},
		{true, 0, 0, "0.00", true},
	} {
		g := gate{most: c.most, need: c.need, decimals: 2}
		if shown, met := g.show(g.rounded(c.value)), g.met(c.value); shown != c.shown || met != c.met {
			t.Errorf("most %v, need %v: %v is shown as %s, met %v; want %s, %v", c.most, c.need, c.value, shown, met, c.shown, c.met)
		}
	}
}
