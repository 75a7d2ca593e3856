package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/bench"
)

const perThousand = 1000

// replay asks again for what is in the process's memory.
var replay = trial{
	gates: []gate{{name: "replay from memory, 1 goroutine", unit: " k/s", need: 500, aim: 1000}},
	measure: func(ctx context.Context, l *lab) ([]figure, error) {
		engine, err := onceward.New(bench.Nowhere{}, onceward.Options{})
		if err != nil {
			return nil, err
		}
		ask := func(ctx context.Context) (onceward.Result, error) {
			return engine.Do(ctx, bench.NewOrder("8e03978e-40d5-43dd-bc93-6894a57f9324"), func(context.Context, bench.NoTx) (onceward.Outcome, error) {
				return onceward.Outcome{Kind: "http", Data: make([]byte, 500)}, nil
			})
		}
		if _, err := ask(ctx); err != nil {
			return nil, err
		}
		rates, err := bench.Repeat(ctx, l.rounds, bench.Alone(l.window/2, func(ctx context.Context, _ int) error {
			result, err := ask(ctx)
			if err == nil && !result.Replayed {
				return errors.New("the work ran again")
			}
			return err
		}))
		if err != nil {
			return nil, err
		}
		return []figure{{bench.Median(rates) / perThousand, fmt.Sprintf(
			"Do with an outcome of 500 B in memory; %s in a second of the thread's processor time", spread(rates, "%.0f"))}}, nil
	},
}
