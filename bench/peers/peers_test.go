package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/bench"
	"github.com/onceward/onceward/internal/dbtest"
)

const page = "../../docs/benchmarks.md"

func TestMain(m *testing.M) { dbtest.Main(m) }

// TestPageIsTrue fails when a peer, or onceward, is not set up as the page says, or does not do what the page says of it.
func TestPageIsTrue(t *testing.T) {
	t.Parallel()
	published, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{server: &bench.Server{Postgres: dbtest.Shared(t)}}
	var out strings.Builder
	if err := l.print(t.Context(), &out, "sides|conduct"); err != nil {
		t.Fatal(err)
	}
	for table := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n\n### ") {
		if !strings.Contains(string(published), table) {
			t.Errorf("%s does not hold this table as it is now:\n%s", page, table)
		}
	}
}

// TestTables makes the other tables in a moment, so that none rots; how fast anything was is not judged.
func TestTables(t *testing.T) {
	t.Parallel()
	l := &lab{server: &bench.Server{Postgres: dbtest.Shared(t)}, rounds: 1, window: 5 * time.Millisecond, requests: 16, warmups: 1}
	var out strings.Builder
	if err := l.print(t.Context(), &out, "first|retry|growth|hot"); err != nil {
		t.Fatal(err)
	}
	for _, p := range peers[1:] {
		if strings.Count(out.String(), "| "+p.name+" |") != 4 {
			t.Errorf("%s has not a row in each of the four tables", p.name)
		}
	}
	t.Log("\n" + out.String())
}
