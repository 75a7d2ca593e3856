package onceward_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

// The meaning of a request is made anew for each, as a door does.
const benchBody = `{"sku":"BOOK","quantity":2,"note":"by the back door, please","address":{"city":"Ulm","street":"Neue Straße 1"}}`

func benchCommand(key string) onceward.Command {
	return hasty.For(alice, key, fingerprint.JSON([]byte(benchBody)))
}

// BenchmarkReplayFromMemory is a gate: 500 000 a second at least in one goroutine.
func BenchmarkReplayFromMemory(b *testing.B) {
	e, c := newEngine(b, newProbe(), onceward.Options{}), benchCommand("k")
	do(b.Context(), e, c, says("ok")).wants(b, "ok", false)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := e.Do(b.Context(), benchCommand("k"), nil); err != nil || !r.Replayed {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "replays/s")
}

func BenchmarkReplayFromMemoryAtOnce(b *testing.B) {
	const keys = 1024
	e := newEngine(b, newProbe(), onceward.Options{})
	for k := range keys {
		do(b.Context(), e, benchCommand(strconv.Itoa(k)), says("ok")).wants(b, "ok", false)
	}
	b.ReportAllocs()
	var callers atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for k := int(callers.Add(1)) * 97; pb.Next(); k++ {
			if r, err := e.Do(b.Context(), benchCommand(strconv.Itoa(k%keys)), nil); err != nil || !r.Replayed {
				b.Error(r, err)
			}
		}
	})
}

// BenchmarkDo is the engine's own cost around a work that does nothing, in a store that does next to nothing.
func BenchmarkDo(b *testing.B) {
	e := newEngine(b, newProbe(), onceward.Options{MemoryBytesMax: -1})
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := e.Do(b.Context(), benchCommand(strconv.Itoa(n)), says("ok")); err != nil {
			b.Fatal(err)
		}
	}
}
