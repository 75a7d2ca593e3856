package onceward_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// The id is stored: one that changes loses every record that was written before.
func TestPublicIDIsStable(t *testing.T) {
	for _, c := range []struct {
		command onceward.Command
		want    string
	}{
		{hasty.For(alice, "order-1", nil), "cnv8jeftu2ta786d"},
		{hasty.For(onceward.Scope{Principal: "alice"}, "order-1", nil), "9st6r8od3nfm59sr"},
		{(&onceward.Operation{Name: "create-order.v1", Per: onceward.Tenant}).For(alice, "order-1", nil), "uun32vvduc15q04c"},
		{hasty.For(alice, "日本", "the meaning does not count"), "hokpvdjnf6pf6kpj"},
	} {
		r := do(t.Context(), newEngine(t, newProbe(), onceward.Options{}), c.command, says("ok"))
		if r.result.ID != c.want {
			t.Errorf("the public id of %v %q is %q, want %q", c.command.Scope, c.command.Key, r.result.ID, c.want)
		}
	}
}

// Parts are prefixed with their length: what is moved from one to the next makes another command.
func TestIDKeepsPartsApart(t *testing.T) {
	e := newEngine(t, newProbe(), onceward.Options{})
	short := regexp.MustCompile(`^[0-9a-v]{16}$`)
	seen := map[string]onceward.Command{}
	for _, name := range []string{"ab", "a"} {
		for _, tenant := range []string{"", "b", "bc"} {
			for _, principal := range []string{"c", "cd", "bc"} {
				for _, key := range []string{"d", "cd", "bcd"} {
					c := (&onceward.Operation{Name: name}).For(onceward.Scope{Tenant: tenant, Principal: principal}, key, nil)
					id := do(t.Context(), e, c, says("ok")).result.ID
					if other, ok := seen[id]; ok || !short.MatchString(id) {
						t.Errorf("%v and %v have the id %q", c, other, id)
					}
					seen[id] = c
				}
			}
		}
	}
}

func TestRecordInTheWay(t *testing.T) {
	for _, c := range []struct {
		life, keep time.Duration
		want       bool
	}{
		{time.Hour, 0, true},
		{1, 0, true},
		{0, 0, false},
		{-1, 0, false},
		{0, time.Minute, true},
		{-time.Minute + 1, time.Minute, true},
		{-time.Minute, time.Minute, false},
	} {
		record, want := onceward.Record{Life: c.life}, onceward.Record{Keep: c.keep}
		if got := record.InTheWay(&want); got != c.want {
			t.Errorf("%v left and %v kept: in the way is %t, want %t", c.life, c.keep, got, c.want)
		}
	}
}
