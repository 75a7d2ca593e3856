package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/bench"
)

// roundTrip is the network between two machines of one data centre.
const roundTrip = time.Millisecond

// against are the columns of the table of first requests.
var against = []struct {
	callers   int
	roundTrip time.Duration
}{{1, 0}, {8, 0}, {32, 0}, {1, roundTrip}, {8, roundTrip}}

// firstTable measures orders that were never placed before.
func (l *lab) firstTable(ctx context.Context) (*table, error) {
	t := &table{
		name: "First requests",
		about: fmt.Sprintf("Orders in a second for each that the bare transaction gets done beside it: the median of %d rounds, %v a side, in turn, and the middle half; "+
			"as many connections as callers. The network of 1 ms is a proxy that both sides go through.", l.rounds, l.window),
		rows: [][]string{{"side"}},
	}
	for _, a := range against {
		head := fmt.Sprintf("%d callers", a.callers)
		if a.callers == 1 {
			head = "1 caller"
		}
		if a.roundTrip > 0 {
			head += ", 1 ms network"
		}
		t.rows[0] = append(t.rows[0], head)
	}
	for _, p := range peers[1:] {
		row := []string{p.name}
		for _, a := range against {
			ratios, err := l.againstBare(ctx, &p, a.callers, a.roundTrip)
			if err != nil {
				return nil, err
			}
			first, median, third := bench.Quartiles(ratios)
			row = append(row, fmt.Sprintf("%.2f (%.2f–%.2f)", median, first, third))
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
}

func (l *lab) againstBare(ctx context.Context, p *peer, callers int, roundTrip time.Duration) ([]float64, error) {
	s, err := l.openStand(ctx, p, callers, roundTrip, nil)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.warm(ctx, callers); err != nil {
		return nil, err
	}
	return bench.Ratios(ctx, l.rounds,
		bench.Callers(callers, l.window, s.orders(s.bare)), bench.Callers(callers, l.window, s.orders(s.peer)))
}

// retryCallers ask again at once.
const retryCallers = 8

// retryTable measures orders that were placed before.
func (l *lab) retryTable(ctx context.Context) (*table, error) {
	t := &table{
		name: "Retries",
		about: fmt.Sprintf("Answers in a second to %d callers: from the process that placed the order, and from another, which answers each retry for the first time. "+
			"All peers in turn, the median of %d rounds of %d retries; no network.", retryCallers, l.rounds, l.requests),
		rows: [][]string{{"side", "the same process", "another process"}},
	}
	benches := make([]*retries, len(peers)-1)
	for i := range benches {
		r, err := l.openRetries(ctx, &peers[i+1])
		if err != nil {
			return nil, err
		}
		defer r.close()
		benches[i] = r
	}
	for range l.rounds {
		for _, r := range benches {
			if err := r.measure(ctx, l.requests); err != nil {
				return nil, fmt.Errorf("%s: %w", r.peer.name, err)
			}
		}
	}
	for _, r := range benches {
		elsewhere := "–: a second order"
		if len(r.elsewhere) > 0 {
			elsewhere = perSecond(bench.Median(r.elsewhere))
		}
		t.rows = append(t.rows, []string{r.peer.name, perSecond(bench.Median(r.here)), elsewhere})
	}
	return t, nil
}

func perSecond(rate float64) string {
	if rate >= 100_000 {
		return fmt.Sprintf("%.0f k", rate/1000)
	}
	return fmt.Sprintf("%.1f k", rate/1000)
}

// retries is a peer whose orders are asked for again.
type retries struct {
	*lab
	peer            *peer
	one, two        *process
	here, elsewhere []float64
}

func (l *lab) openRetries(ctx context.Context, p *peer) (*retries, error) {
	name, err := l.database()
	if err != nil {
		return nil, err
	}
	url := l.server.URL(name)
	r := &retries{lab: l, peer: p}
	if r.one, err = l.start(ctx, p, url, "one", retryCallers, nil); err != nil {
		return nil, err
	}
	if r.two, err = l.start(ctx, p, url, "two", retryCallers, nil); err != nil {
		r.one.end()
		return nil, err
	}
	for _, warm := range []*process{r.one, r.two} {
		if _, err := each(ctx, warm, r.newKeys(l.warmups*retryCallers)); err != nil {
			r.close()
			return nil, err
		}
	}
	return r, nil
}

func (r *retries) newKeys(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = r.newKey()
	}
	return keys
}

func (r *retries) close() {
	r.one.end()
	r.two.end()
}

// measure places new orders and asks for each again, here and elsewhere.
func (r *retries) measure(ctx context.Context, requests int) error {
	keys := r.newKeys(requests)
	if _, err := each(ctx, r.one, keys); err != nil {
		return err
	}
	before, err := orders(ctx, r.one.pool)
	if err != nil {
		return err
	}
	here, err := each(ctx, r.one, keys)
	if err != nil {
		return err
	}
	elsewhere, err := each(ctx, r.two, keys)
	if err != nil {
		return err
	}
	after, err := orders(ctx, r.one.pool)
	r.here = append(r.here, here)
	if after == before {
		r.elsewhere = append(r.elsewhere, elsewhere)
	}
	return err
}

// each orders under each key and returns how many it got done in a second.
func each(ctx context.Context, at *process, keys []string) (float64, error) {
	var next atomic.Int64
	began := time.Now()
	err := bench.Calls(ctx, retryCallers, len(keys), func(ctx context.Context) error {
		_, err := at.order(ctx, keys[next.Add(1)-1], 2)
		return err
	})
	return float64(len(keys)) / time.Since(began).Seconds(), err
}

// The hot key: so many callers ask for one order at once, whose work takes so long; beside them others place their own.
const (
	hotPrefix     = "hot-hot-"
	hotDuplicates = 200
	hotWork       = 50 * time.Millisecond
	hotPool       = 10
	hotForeground = 16
)

// hotTable measures what is left for others beside a key that everybody asks for.
func (l *lab) hotTable(ctx context.Context) (*table, error) {
	t := &table{
		name: "A hot key",
		about: fmt.Sprintf("%d duplicates of one order at once, again and again, whose work takes %v; beside them %d callers place orders of their own, on one pool of %d connections. "+
			"What these get done, of what they do without the hot key: the median of %d rounds, in turn.", hotDuplicates, hotWork, hotForeground, hotPool, l.rounds),
		rows: [][]string{{"side", "kept"}},
	}
	for _, p := range peers[1:] {
		ratios, err := l.hot(ctx, &p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		t.rows = append(t.rows, []string{p.name, fmt.Sprintf("%.0f %%", 100*bench.Median(ratios))})
	}
	return t, nil
}

func (l *lab) hot(ctx context.Context, p *peer) ([]float64, error) {
	s, err := l.openStand(ctx, p, hotPool, 0, func(key string) error {
		if strings.HasPrefix(key, hotPrefix) {
			time.Sleep(hotWork)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	defer s.close()
	if err := s.warm(ctx, hotForeground); err != nil {
		return nil, err
	}
	foreground := bench.Callers(hotForeground, l.window, s.orders(s.peer))
	return bench.Ratios(ctx, l.rounds, foreground, s.beside(foreground))
}

// beside is a side that is measured while wave follows wave on the hot key.
func (s *stand) beside(foreground bench.Side) bench.Side {
	return func(ctx context.Context) (float64, error) {
		var over atomic.Bool
		var waves error
		var group sync.WaitGroup
		group.Go(func() {
			for waves == nil && !over.Load() {
				waves = s.wave(ctx)
			}
		})
		rate, err := foreground(ctx)
		over.Store(true)
		group.Wait()
		if err == nil {
			err = waves
		}
		return rate, err
	}
}

func (s *stand) wave(ctx context.Context) error {
	key := s.keyLike(hotPrefix)
	return bench.Calls(ctx, hotDuplicates, hotDuplicates, func(ctx context.Context) error {
		_, err := s.peer.order(ctx, key, 2)
		return err
	})
}
