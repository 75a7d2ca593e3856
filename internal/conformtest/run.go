package conformtest

import (
	"slices"
	"testing"

	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/internal/features"
)

// Run plays the cases against a door's or an adapter's service, but for those of the features that it lacks, and has the
// README's table say so in the column of its name.
func Run(t *testing.T, column string, target conform.Target, lacks ...conform.Feature) {
	Play(t, target, lacks...)
	features.Adapter(t, column, lacks...)
}

// Play is Run for a second service of one column.
func Play(t *testing.T, target conform.Target, lacks ...conform.Feature) {
	for _, c := range conform.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if slices.Contains(lacks, c.Feature) {
				t.Skipf("lacked: %s", c.Feature)
			}
			if err := c.Run(t.Context(), target); err != nil {
				t.Error(err)
			}
		})
	}
}
