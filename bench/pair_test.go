package bench

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// TestRatiosAlternate fails if a drift falls on one side: each call here does more than the one before.
func TestRatiosAlternate(t *testing.T) {
	var order string
	call := 0.0
	side := func(name string) Side {
		return func(context.Context) (float64, error) {
			order += name
			call++
			return call, nil
		}
	}
	ratios, err := Ratios(t.Context(), 4, side("a"), side("b"))
	if want := []float64{2. / 1, 3. / 4, 6. / 5, 7. / 8}; err != nil || !slices.Equal(ratios, want) {
		t.Errorf("got %v, %v, want %v", ratios, err, want)
	}
	if order != "abbaabba" {
		t.Errorf("the order was %s", order)
	}
}

func TestSidesReportErrors(t *testing.T) {
	broken := errors.New("broken")
	fails := func(context.Context) error { return broken }
	if _, err := Callers(2, time.Second, fails)(t.Context()); !errors.Is(err, broken) {
		t.Errorf("Callers: %v", err)
	}
	if err := Calls(t.Context(), 2, 10, fails); !errors.Is(err, broken) {
		t.Errorf("Calls: %v", err)
	}
	one := func(context.Context) (float64, error) { return 1, nil }
	two := Callers(1, time.Second, fails)
	for _, sides := range [][2]Side{{one, two}, {two, one}} {
		if _, err := Ratios(t.Context(), 1, sides[0], sides[1]); !errors.Is(err, broken) {
			t.Errorf("Ratios: %v", err)
		}
	}
}

func TestQuartiles(t *testing.T) {
	first, median, third := Quartiles([]float64{5, 1, 2, 4, 3})
	if first != 2 || median != 3 || third != 4 {
		t.Errorf("got %v, %v, %v, want 2, 3, 4", first, median, third)
	}
	if even := Median([]float64{4, 1, 3, 2}); even != 2.5 {
		t.Errorf("the median of four is %v, want 2.5", even)
	}
}

func TestCartIsOneKiB(t *testing.T) {
	if n := len(CartJSON()); n != cartBytes {
		t.Errorf("%d bytes, want %d", n, cartBytes)
	}
}
