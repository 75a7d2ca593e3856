package main

import (
	"context"
	"fmt"
	"time"

	"github.com/onceward/onceward/bench"
)

// roundTrip is the network of the gates that have one: two machines of one data centre.
const roundTrip = time.Millisecond

// Do against the bare transaction: so many callers on a pool of as many connections.
var throughput = []trial{
	{
		gates:   []gate{{name: "Do ÷ bare, c=32, loopback", decimals: 2, need: 0.58, aim: 0.80}},
		measure: func(ctx context.Context, l *lab) ([]figure, error) { return l.againstBare(ctx, 32, 0) },
	},
	{
		gates:   []gate{{name: "Do ÷ bare, c=8, 1 ms network", decimals: 2, need: 0.93, aim: 1.10}},
		measure: func(ctx context.Context, l *lab) ([]figure, error) { return l.againstBare(ctx, 8, roundTrip) },
	},
	{
		gates:   []gate{{name: "Do ÷ bare, c=1, 1 ms network", decimals: 2, need: 0.95, aim: 1.00}},
		measure: func(ctx context.Context, l *lab) ([]figure, error) { return l.againstBare(ctx, 1, roundTrip) },
	},
}

func (l *lab) againstBare(ctx context.Context, callers int, network time.Duration) ([]figure, error) {
	shop, err := l.server.OpenShop(ctx, callers, network)
	if err != nil {
		return nil, err
	}
	defer shop.Close()
	if err := shop.Warm(ctx, callers, 50*callers); err != nil {
		return nil, err
	}
	bare, err := shop.NewMeter(ctx)
	if err != nil {
		return nil, err
	}
	once := bare.Another()
	ratios, err := bench.Ratios(ctx, l.rounds,
		bare.Side(bench.Callers(callers, l.window, shop.Bare)), once.Side(bench.Callers(callers, l.window, shop.Once)))
	if err != nil {
		return nil, err
	}
	how := fmt.Sprintf("%s; BEGIN, INSERT, COMMIT %.0f/s, Do with the same INSERT %.0f/s; %v and %v of processor time each, client+server; %v a side in turn, one pool of %d",
		spread(ratios, "%.2f"), bare.Rate(), once.Rate(), bare.Cost(), once.Cost(), l.window, callers)
	if network > 0 {
		how += fmt.Sprintf(", both through one proxy that makes a round trip of %v", network)
	}
	return []figure{{bench.Median(ratios), how}}, nil
}
