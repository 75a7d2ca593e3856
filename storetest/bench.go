package storetest

import (
	"context"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
)

// Benchmark runs the suite's benchmarks as sub-benchmarks of b, each on a harness of its own that open makes. The
// figures are the store's: the engines remember nothing.
func Benchmark[Tx any](b *testing.B, open func(b testing.TB) Harness[Tx]) {
	for _, bench := range []struct {
		name string
		run  func(b *testing.B, f *fixture[Tx], do func(key string, work onceward.Work[Tx]))
	}{
		{"first", benchFirst[Tx]},
		{"first, 8 callers", benchFirst8[Tx]},
		{"replay", benchReplay[Tx]},
		{"replay, 8 callers", benchReplay8[Tx]},
		{"rollback", benchRollback[Tx]},
	} {
		b.Run(bench.name, func(b *testing.B) {
			f := &fixture[Tx]{Harness: open(b)}
			e := engineOn(b, f.Store, onceward.Options{MemoryBytesMax: -1})
			ctx := context.Background()
			bench.run(b, f, func(key string, work onceward.Work[Tx]) {
				if _, err := e.Do(ctx, hasty.For(alice, key, nil), work); err != nil && err != errWork {
					b.Error(err)
				}
			})
		})
	}
}

func benchFirst[Tx any](b *testing.B, f *fixture[Tx], do func(string, onceward.Work[Tx])) {
	for n := 0; b.Loop(); n++ {
		do(strconv.Itoa(n), f.writes("k", "accepted"))
	}
}

func benchFirst8[Tx any](b *testing.B, f *fixture[Tx], do func(string, onceward.Work[Tx])) {
	var n atomic.Int64
	callers8(b, func(pb *testing.PB, _ int) {
		for pb.Next() {
			do(strconv.FormatInt(n.Add(1), 10), f.writes("k", "accepted"))
		}
	})
}

func benchReplay[Tx any](b *testing.B, f *fixture[Tx], do func(string, onceward.Work[Tx])) {
	do("k", f.writes("k", "accepted"))
	for b.Loop() {
		do("k", unreachable[Tx](b))
	}
}

func benchReplay8[Tx any](b *testing.B, f *fixture[Tx], do func(string, onceward.Work[Tx])) {
	callers8(b, func(pb *testing.PB, caller int) {
		key := strconv.Itoa(caller) // of its own: two callers of one key would share a flight
		do(key, f.writes("k", "accepted"))
		for pb.Next() {
			do(key, unreachable[Tx](b))
		}
	})
}

// callers8 runs at least 8 callers at once; they have numbers.
func callers8(b *testing.B, run func(pb *testing.PB, caller int)) {
	var callers atomic.Int64
	b.SetParallelism(max(1, 8/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) { run(pb, int(callers.Add(1))) })
}

func benchRollback[Tx any](b *testing.B, f *fixture[Tx], do func(string, onceward.Work[Tx])) {
	for b.Loop() {
		do("k", func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			if err := f.Write(ctx, tx, "k"); err != nil {
				b.Error(err)
			}
			return onceward.Outcome{}, errWork
		})
	}
}
