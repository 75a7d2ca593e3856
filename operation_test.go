package onceward_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

func TestOperationSaysWhatIsWrong(t *testing.T) {
	const maximum = onceward.RetentionMax
	for name, c := range map[string]struct {
		operation *onceward.Operation
		says      string // "" where nothing is wrong
	}{
		"nil":                    {nil, "nil"},
		"no name":                {&onceward.Operation{}, "name"},
		"shortest name":          {&onceward.Operation{Name: "o"}, ""},
		"longest name":           {&onceward.Operation{Name: strings.Repeat("o", onceward.NameBytesMax)}, ""},
		"name too long":          {&onceward.Operation{Name: strings.Repeat("o", onceward.NameBytesMax+1)}, "name"},
		"every character":        {&onceward.Operation{Name: "Create_order-2.v1"}, ""},
		"space in the name":      {&onceward.Operation{Name: "create order"}, "create order"},
		"letter not ASCII":       {&onceward.Operation{Name: "créer"}, "name"},
		"NUL in the name":        {&onceward.Operation{Name: "o\x00"}, "name"},
		"longest retention":      {&onceward.Operation{Name: "o", Retention: maximum}, ""},
		"retention too long":     {&onceward.Operation{Name: "o", Retention: maximum + 1}, "retention"},
		"retention negative":     {&onceward.Operation{Name: "o", Retention: -1}, "retention"},
		"longest wait":           {&onceward.Operation{Name: "o", Wait: onceward.WaitMax}, ""},
		"wait too long":          {&onceward.Operation{Name: "o", Wait: onceward.WaitMax + 1}, "wait"},
		"wait negative":          {&onceward.Operation{Name: "o", Wait: -time.Second}, "wait"},
		"longest refusal":        {&onceward.Operation{Name: "o", RefuseExpired: maximum}, ""},
		"refusal too long":       {&onceward.Operation{Name: "o", RefuseExpired: maximum + 1}, "RefuseExpired"},
		"refusal negative":       {&onceward.Operation{Name: "o", RefuseExpired: -1}, "RefuseExpired"},
		"longest window":         {&onceward.Operation{Name: "o", Window: onceward.WindowMax}, ""},
		"window too long":        {&onceward.Operation{Name: "o", Window: onceward.WindowMax + 1}, "window"},
		"window negative":        {&onceward.Operation{Name: "o", Window: -1}, "window"},
		"longest submission":     {&onceward.Operation{Name: "o", Submit: maximum}, ""},
		"submission too long":    {&onceward.Operation{Name: "o", Submit: maximum + 1}, "Submit"},
		"submission negative":    {&onceward.Operation{Name: "o", Submit: -1}, "Submit"},
		"token and window":       {&onceward.Operation{Name: "o", Submit: 1, Window: 1}, "both"},
		"no room for tokens":     {&onceward.Operation{Name: strings.Repeat("o", onceward.NameBytesMax-5), Submit: 1}, "94"},
		"per tenant":             {&onceward.Operation{Name: "o", Per: onceward.Tenant}, ""},
		"per somebody else":      {&onceward.Operation{Name: "o", Per: onceward.Tenant + 1}, "Per"},
		"a name that is endless": {&onceward.Operation{Name: strings.Repeat("ü", 1<<20)}, "name"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.operation.Validate()
			switch {
			case c.says == "" && err != nil:
				t.Errorf("Validate: %v", err)
			case c.says != "" && !errors.Is(err, onceward.ErrOperation):
				t.Errorf("Validate: %v, want ErrOperation", err)
			case c.says != "" && !strings.Contains(err.Error(), c.says), err != nil && len(err.Error()) > 1000:
				t.Errorf("the error does not name %q, or is long: %.300q", c.says, err)
			}
		})
	}
}

func TestPerIsAWordOfTheContract(t *testing.T) {
	if p, q := onceward.Principal.String(), onceward.Tenant.String(); p != "principal" || q != "tenant" {
		t.Errorf("the words are %q and %q", p, q)
	}
}

// Nothing is claimed for a command that is not valid, and no door runs its work.
func TestInvalidCommandClaimsNothing(t *testing.T) {
	scope := func(tenant, principal string) onceward.Scope {
		return onceward.Scope{Tenant: tenant, Principal: principal}
	}
	perTenant := &onceward.Operation{Name: "ship.v1", Per: onceward.Tenant}
	long := strings.Repeat("x", onceward.ScopeBytesMax+1)
	for name, c := range map[string]struct {
		command onceward.Command
		want    error
	}{
		"no operation":                  {onceward.Command{Scope: alice, Key: "k"}, onceward.ErrOperation},
		"operation not valid":           {(&onceward.Operation{}).For(alice, "k", nil), onceward.ErrOperation},
		"F19 no scope":                  {hasty.For(scope("", ""), "k", nil), onceward.ErrScope},
		"F19 no principal":              {hasty.For(scope("acme", ""), "k", nil), onceward.ErrScope},
		"F19 no tenant where it counts": {perTenant.For(scope("", "alice"), "k", nil), onceward.ErrScope},
		"tenant too long":               {hasty.For(scope(long, "alice"), "k", nil), onceward.ErrScope},
		"principal too long":            {hasty.For(scope("acme", long), "k", nil), onceward.ErrScope},
		"tenant with NUL":               {hasty.For(scope("ac\x00me", "alice"), "k", nil), onceward.ErrScope},
		"principal not UTF-8":           {hasty.For(scope("acme", "\xff"), "k", nil), onceward.ErrScope},
		"F21 no key":                    {hasty.For(alice, "", nil), onceward.ErrKey},
		"F21 blank key":                 {hasty.For(alice, " \t\u00a0", nil), onceward.ErrKey},
		"F21 key too long":              {hasty.For(alice, strings.Repeat("k", onceward.KeyBytesMax+1), nil), onceward.ErrKey},
		"F21 key with NUL":              {hasty.For(alice, "k\x00", nil), onceward.ErrKey},
		"F21 key not UTF-8":             {hasty.For(alice, "k\xc3", nil), onceward.ErrKey},
		"meaning that is no JSON":       {hasty.For(alice, "k", func() {}), onceward.ErrMeaning},
		"malformed meaning":             {hasty.For(alice, "k", fingerprint.JSON([]byte(`{"a":1,"a":2}`))), onceward.ErrMeaning},
	} {
		t.Run(name, func(t *testing.T) {
			store := newProbe()
			e := newEngine(t, store, onceward.Options{})
			do(t.Context(), e, c.command, never(t)).fails(t, c.want)
			_, err := onceward.Join(t.Context(), e, new(tx), c.command, func(context.Context, *tx) (int, error) {
				t.Error("the joined work ran")
				return 0, nil
			})
			wantError(t, err, c.want)
			if c.want != onceward.ErrMeaning { // Find compares no meaning
				_, err = e.Find(t.Context(), c.command)
				wantError(t, err, c.want)
			}
			wantCount(t, "claims", store.claims.Load(), 0)
		})
	}
}
