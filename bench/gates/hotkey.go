package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	percentOfWhole = 100
)

var hotKey = trial{
	gates: []gate{
		{name: "hot key: extra connections per process", most: true, need: 1, aim: 1},
		{name: "hot key: foreground throughput kept", unit: " %", need: 80, aim: 95},
	},
	measure: func(ctx context.Context, l *lab) ([]figure, error) {
		connections, err := l.hotConnections(ctx)
		if err != nil {
			return nil, err
		}
		kept, err := l.hotForeground(ctx)
		return []figure{connections, kept}, err
	},
}

// hotConnections counts the connections that a pool opened, which it does only while all others are in use.
func (l *lab) hotConnections(ctx context.Context) (figure, error) {
	shop, err := l.server.OpenShop(ctx, hotPool, 0)
	if err != nil {
		return figure{}, err
	}
	defer shop.Close()
	for range hotWavesAlone {
		if err := wave(ctx, shop, func() {}); err != nil {
			return figure{}, err
		}
	}
	return figure{float64(shop.Pool.Stat().TotalConns()), fmt.Sprintf(
		"what a fresh pool of %d opened for %d times %d duplicates, the first of which takes %v", hotPool, hotWavesAlone, hotDuplicates, hotWork)}, nil
}

// hotForeground compares what others get done beside the hot key with what they do without.
func (l *lab) hotForeground(ctx context.Context) (figure, error) {
	shop, err := l.server.OpenShop(ctx, hotPool, 0)
	if err != nil {
		return figure{}, err
	}
	defer shop.Close()
	if err := shop.Warm(ctx, hotForeground, 50*hotForeground); err != nil {
		return figure{}, err
	}
	quiet, err := shop.NewMeter(ctx)
	if err != nil {
		return figure{}, err
	}
	foreground := bench.Callers(hotForeground, l.window, shop.Once)
	ratios, err := bench.Ratios(ctx, l.rounds, quiet.Side(foreground), beside(shop, foreground))
	if err != nil {
		return figure{}, err
	}
	return figure{percentOfWhole * bench.Median(ratios), fmt.Sprintf(
		"%s; %d callers of Do with keys of their own, %.0f/s without the hot key; %d duplicates at once, again and again, the first takes %v; one pool of %d",
		spread(ratios, "%.2f"), hotForeground, quiet.Rate(), hotDuplicates, hotWork, hotPool)}, nil
}

// beside is a side that is measured while wave follows wave.
func beside(shop *bench.Shop, foreground bench.Side) bench.Side {
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
					waves = wave(ctx, shop, begun)
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
func wave(ctx context.Context, shop *bench.Shop, begun func()) error {
	key := shop.NewKey()
	return bench.Calls(ctx, hotDuplicates, hotDuplicates, func(ctx context.Context) error {
		return shop.Hot(ctx, key, func() {
			begun()
			time.Sleep(hotWork)
		})
	})
}
