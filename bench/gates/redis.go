package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/bench"
)

const (
	frontCallers   = 32
	replayKeys     = 500
	replayCallers  = 8
	frontHotWaves  = 10
	frontHotFollow = 200
)

// Redis in front of PostgreSQL: what it costs a first request, and what it saves.
var redis = trial{
	gates: []gate{
		{name: "first request behind Redis ÷ without, c=32", decimals: 2, need: 0.85, aim: 0.92},
		{name: "replay by Redis ÷ by PostgreSQL, c=8", decimals: 1, need: 1.5, aim: 3},
		{name: "replay by memory ÷ by PostgreSQL, c=8", decimals: 0, need: 20, aim: 50},
		{name: "hot key, no waiting: duplicates kept from PostgreSQL by Redis", unit: " %", need: 80, aim: 95},
	},
	measure: func(ctx context.Context, l *lab) (figures []figure, err error) {
		front, err := bench.StartFront()
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, front.Close()) }()
		shop, err := l.server.OpenShop(ctx, frontCallers, 0)
		if err != nil {
			return nil, err
		}
		defer shop.Close()
		for _, measure := range []func(context.Context, *bench.Shop, onceward.Front) ([]figure, error){l.frontsCost, l.replays, hotBehindFront} {
			measured, err := measure(ctx, shop, front)
			if err != nil {
				return nil, err
			}
			figures = append(figures, measured...)
		}
		return figures, nil
	},
}

func (l *lab) frontsCost(ctx context.Context, shop *bench.Shop, front onceward.Front) ([]figure, error) {
	behind, err := shop.With(onceward.Options{Front: front})
	if err != nil {
		return nil, err
	}
	once := func(ctx context.Context) error { return behind.Place(ctx, shop.NewKey()) }
	if err := errors.Join(shop.Warm(ctx, frontCallers, 50*frontCallers), bench.Calls(ctx, frontCallers, 50*frontCallers, once)); err != nil {
		return nil, err
	}
	ratios, err := bench.Ratios(ctx, l.rounds, bench.Callers(frontCallers, l.window, shop.Once), bench.Callers(frontCallers, l.window, once))
	if err != nil {
		return nil, err
	}
	return []figure{{bench.Median(ratios), spread(ratios, "%.2f") + "; two round trips to Redis on loopback a request, all on the same processors"}}, nil
}

// replays compares what answers a retry: PostgreSQL, Redis, and a process's memory.
func (l *lab) replays(ctx context.Context, shop *bench.Shop, front onceward.Front) ([]figure, error) {
	const none = -1
	keys := make([]string, replayKeys)
	sides := map[string]bench.Side{}
	for name, options := range map[string]onceward.Options{
		"store": {MemoryBytesMax: none}, "Redis": {MemoryBytesMax: none, Front: front}, "memory": {},
	} {
		side, err := shop.With(options)
		if err != nil {
			return nil, err
		}
		for i := range keys {
			if keys[i] == "" {
				keys[i] = shop.NewKey()
			}
			if err := side.Place(ctx, keys[i]); err != nil {
				return nil, err
			}
		}
		var next atomic.Int64
		sides[name] = bench.Callers(replayCallers, l.window/2, func(ctx context.Context) error {
			return side.Place(ctx, keys[next.Add(1)%replayKeys])
		})
	}
	var figures []figure
	for _, name := range []string{"Redis", "memory"} {
		ratios, err := bench.Ratios(ctx, l.rounds, sides["store"], sides[name])
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{bench.Median(ratios), spread(ratios, "%.1f") + fmt.Sprintf("; an outcome of 500 B, one of %d", replayKeys)})
	}
	return figures, nil
}

// hotBehindFront counts what comes to the database when all ask for one order at several processes and do not wait.
func hotBehindFront(ctx context.Context, shop *bench.Shop, front onceward.Front) ([]figure, error) {
	without, err := hotClaims(ctx, shop, nil)
	if err != nil {
		return nil, err
	}
	with, err := hotClaims(ctx, shop, front)
	if err != nil {
		return nil, err
	}
	if without <= 0 {
		return nil, errors.New("gates: the duplicates did not come to the database at all")
	}
	return []figure{{percentOfWhole * (1 - float64(with)/float64(without)), fmt.Sprintf(
		"they claim %d times with Redis, %d times without, in %d waves of %d duplicates at %d engines; the first takes %v",
		with, without, frontHotWaves, frontHotFollow, hotProcesses, hotWork)}}, nil
}

func hotClaims(ctx context.Context, shop *bench.Shop, front onceward.Front) (int64, error) {
	count := new(claims)
	processes := make([]*bench.Shop, hotProcesses)
	for i := range processes {
		var err error
		if processes[i], err = shop.With(onceward.Options{Front: front, Observer: count}); err != nil {
			return 0, err
		}
	}
	for range frontHotWaves {
		key := shop.NewKey()
		var next atomic.Int64
		running := make(chan struct{})
		first := make(chan error, 1)
		go func() {
			first <- processes[0].Hasty(ctx, key, func() {
				close(running)
				time.Sleep(hotWork)
			})
		}()
		<-running
		err := bench.Calls(ctx, frontHotFollow, frontHotFollow, func(ctx context.Context) error {
			err := processes[next.Add(1)%hotProcesses].Hasty(ctx, key, func() {})
			if errors.Is(err, onceward.ErrInFlight) {
				return nil
			}
			return err
		})
		if err = errors.Join(err, <-first); err != nil {
			return 0, err
		}
	}
	return count.store.Load() - frontHotWaves, nil // the first of each has to claim
}

// claims counts the claims that came to the store.
type claims struct{ store atomic.Int64 }

// Start implements onceward.Observer.
func (*claims) Start(ctx context.Context, _ onceward.Event) context.Context { return ctx }

// End implements onceward.Observer.
func (c *claims) End(_ context.Context, e onceward.Event) {
	if e.Step == onceward.StepClaim && e.Note == onceward.NoteNone {
		c.store.Add(1)
	}
}
