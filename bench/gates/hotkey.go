package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/bench"
)

// The hot key: so many callers ask for one order at once, whose work takes so long; beside them others place their own.
const (
	hotDuplicates  = 200
	hotWork        = 50 * time.Millisecond
	hotPool        = 10
	hotForeground  = 16
	hotWavesAlone  = 5
	hotProcesses   = 3
	percentOfWhole = 100
)

var hotKey = trial{
	gates: []gate{
		{name: "hot key: extra connections per process", most: true, need: 1, aim: 1},
		{name: "hot key: foreground throughput kept", unit: " %", need: 80, aim: 95},
		{name: "hot key, 3 processes: extra connections per process", most: true, need: 1, aim: 1},
		{name: "hot key, 3 processes: foreground throughput kept", unit: " %", need: 80, aim: 95},
	},
	measure: func(ctx context.Context, l *lab) (figures []figure, _ error) {
		for _, processes := range []int{1, hotProcesses} {
			connections, err := l.hotConnections(ctx, processes)
			if err != nil {
				return nil, err
			}
			kept, err := l.hotForeground(ctx, processes)
			if err != nil {
				return nil, err
			}
			figures = append(figures, connections, kept)
		}
		return figures, nil
	},
}

// openProcesses opens a shop as so many processes have it, each with a pool of its own, and returns what closes them.
func (l *lab) openProcesses(ctx context.Context, n int) (processes []*bench.Shop, closeAll func(), err error) {
	closeAll = func() {
		for _, p := range slices.Backward(processes) {
			p.Close()
		}
	}
	for i := range n {
		var p *bench.Shop
		if i == 0 {
			p, err = l.server.OpenShop(ctx, hotPool, 0)
		} else {
			p, err = processes[0].Process(ctx)
		}
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		processes = append(processes, p)
	}
	return processes, closeAll, nil
}

// hotConnections counts the connections that a pool opened, which it does only while all others are in use.
func (l *lab) hotConnections(ctx context.Context, n int) (figure, error) {
	processes, closeAll, err := l.openProcesses(ctx, n)
	if err != nil {
		return figure{}, err
	}
	defer closeAll()
	for range hotWavesAlone {
		if err := wave(ctx, processes, func() {}); err != nil {
			return figure{}, err
		}
	}
	most := int32(0)
	for _, p := range processes {
		most = max(most, p.Pool.Stat().TotalConns())
	}
	return figure{float64(most), fmt.Sprintf(
		"what a fresh pool of %d opened for %d times %d duplicates at %d engines, the first of which takes %v", hotPool, hotWavesAlone, hotDuplicates, n, hotWork)}, nil
}

// hotForeground compares what others get done beside the hot key with what they do without.
func (l *lab) hotForeground(ctx context.Context, n int) (figure, error) {
	processes, closeAll, err := l.openProcesses(ctx, n)
	if err != nil {
		return figure{}, err
	}
	defer closeAll()
	for _, p := range processes {
		if err := p.Warm(ctx, hotForeground, 50*hotForeground); err != nil {
			return figure{}, err
		}
	}
	quiet, err := processes[0].NewMeter(ctx)
	if err != nil {
		return figure{}, err
	}
	var turn atomic.Int64
	foreground := bench.Callers(hotForeground, l.window, func(ctx context.Context) error {
		return processes[turn.Add(1)%int64(n)].Once(ctx)
	})
	ratios, err := bench.Ratios(ctx, l.rounds, quiet.Side(foreground), beside(processes, foreground))
	if err != nil {
		return figure{}, err
	}
	return figure{percentOfWhole * bench.Median(ratios), fmt.Sprintf(
		"%s; %d callers of Do with keys of their own, %.0f/s without the hot key; %d duplicates at once, again and again, at %d engines, the first takes %v; a pool of %d each",
		spread(ratios, "%.2f"), hotForeground, quiet.Rate(), hotDuplicates, n, hotWork, hotPool)}, nil
}

// beside is a side that is measured while wave follows wave.
func beside(processes []*bench.Shop, foreground bench.Side) bench.Side {
	return func(ctx context.Context) (rate float64, err error) {
		running, over := make(chan struct{}), make(chan struct{})
		var waves error
		var group sync.WaitGroup
		group.Go(func() {
			begun := sync.OnceFunc(func() { close(running) })
			defer begun()
			for waves == nil {
				select {
				case <-over:
					return
				default:
					waves = wave(ctx, processes, begun)
				}
			}
		})
		<-running
		rate, err = foreground(ctx)
		close(over)
		group.Wait()
		return rate, errors.Join(err, waves)
	}
}

// wave has all duplicates ask for one order at once; begun is called when the work of the first runs.
func wave(ctx context.Context, processes []*bench.Shop, begun func()) error {
	key := processes[0].NewKey()
	var turn atomic.Int64
	return bench.Calls(ctx, hotDuplicates, hotDuplicates, func(ctx context.Context) error {
		return processes[turn.Add(1)%int64(len(processes))].Hot(ctx, key, func() {
			begun()
			time.Sleep(hotWork)
		})
	})
}
