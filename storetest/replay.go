package storetest

import (
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
)

func replayTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "a command runs once and is replayed by a fresh engine", run: runsOnce[Tx]},
		{name: "an outcome is answered as it was stored", run: keepsOutcomes[Tx]},
		{name: "F06 a changed meaning is refused", run: refusesChangedMeaning[Tx]},
		{name: "F19 operation, tenant, principal and key separate commands", run: separates[Tx]},
		{name: "a tenant's key belongs to all its principals", run: sharesTenantKeys[Tx]},
		{name: "F21 keys are compared byte for byte", run: comparesKeys[Tx]},
		{name: "F21 long names and keys are kept whole", run: keepsLongKeys[Tx]},
		{name: "F18 a record is checked by the rule that wrote it", run: checksByOldRule[Tx]},
		{name: "F18 a record of a rule from the future is left to others", run: leavesNewerRule[Tx]},
		{name: "an id that belongs to another command is refused", run: refusesCollision[Tx]},
	}
}

func runsOnce[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "order-1", "two books")
	first := must(t, f.engine(t), c, f.writes("order-1", "accepted"))
	wantAnswer(t, first, "accepted", false)
	for _, e := range f.engines(t) {
		again := must(t, e, c, unreachable[Tx](t))
		wantAnswer(t, again, "accepted", true)
		if again.ID != first.ID {
			t.Errorf("the replay's id is %q, the first answer's %q", again.ID, first.ID)
		}
	}
	f.wantEffects(t, "order-1", 1)
	f.wantRecords(t, 1)
}

func keepsOutcomes[Tx any](t *testing.T, f *fixture[Tx]) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for name, answer := range map[string]string{
		"no bytes":   "",
		"every byte": string(all),
		"1 MiB":      strings.Repeat(string(all), 1<<20/256),
	} {
		c := hasty.For(alice, name, nil)
		f.runs(t, c, name, answer)
		f.replays(t, c, answer)
	}
}

func refusesChangedMeaning[Tx any](t *testing.T, f *fixture[Tx]) {
	f.runs(t, hasty.For(alice, "k", "two books"), "k", "accepted")
	for _, meaning := range []any{"three books", nil, []byte{}, map[string]int{"books": 2}} {
		f.fails(t, hasty.For(alice, "k", meaning), onceward.ErrKeyReused)
	}
	f.replays(t, hasty.For(alice, "k", "two books"), "accepted")
	f.wantEffects(t, "k", 1)
}

func separates[Tx any](t *testing.T, f *fixture[Tx]) {
	commands := map[string]onceward.Command{
		"one":               hasty.For(alice, "k", nil),
		"another operation": with(hasty, func(o *onceward.Operation) { o.Name = "storetest.v2" }).For(alice, "k", nil),
		"another principal": hasty.For(onceward.Scope{Tenant: "acme", Principal: "bob"}, "k", nil),
		"another tenant":    hasty.For(onceward.Scope{Tenant: "globex", Principal: "alice"}, "k", nil),
		"no tenant":         hasty.For(onceward.Scope{Principal: "acmealice"}, "k", nil),
		"parts moved":       hasty.For(onceward.Scope{Tenant: "acmea", Principal: "lice"}, "k", nil),
		"another key":       hasty.For(alice, "K", nil),
	}
	for name, c := range commands {
		f.runs(t, c, "effect", name)
	}
	for name, c := range commands {
		f.replays(t, c, name)
	}
	f.wantEffects(t, "effect", len(commands))
	f.wantRecords(t, len(commands))
}

func sharesTenantKeys[Tx any](t *testing.T, f *fixture[Tx]) {
	shipping := with(hasty, func(o *onceward.Operation) { o.Per = onceward.Tenant })
	f.runs(t, shipping.For(alice, "SHP-1", nil), "SHP-1", "shipped")
	f.replays(t, shipping.For(onceward.Scope{Tenant: "acme", Principal: "bob"}, "SHP-1", nil), "shipped")
	f.replays(t, shipping.For(onceward.Scope{Tenant: "acme"}, "SHP-1", nil), "shipped")
	f.runs(t, shipping.For(onceward.Scope{Tenant: "globex", Principal: "alice"}, "SHP-1", nil), "SHP-1", "shipped, too")
}

func comparesKeys[Tx any](t *testing.T, f *fixture[Tx]) {
	keys := []string{
		"key", "KEY", "Key", "key ", " key", "key\t", "kéy", "ke\u0301y", "straße", "strasse", "ı", "i", "%", "_", `\`, "'", "日本",
		"\u200bkey", "key\u00a0", "\U0001F4DA",
	}
	for _, key := range keys {
		f.runs(t, hasty.For(alice, key, nil), "effect", key)
	}
	for _, key := range keys {
		f.replays(t, hasty.For(alice, key, nil), key)
	}
	f.wantEffects(t, "effect", len(keys))
}

func keepsLongKeys[Tx any](t *testing.T, f *fixture[Tx]) {
	long := with(hasty, func(o *onceward.Operation) { o.Name = strings.Repeat("n", onceward.NameBytesMax) })
	scope := onceward.Scope{
		Tenant:    strings.Repeat("t", onceward.ScopeBytesMax),
		Principal: strings.Repeat("é", onceward.ScopeBytesMax/2),
	}
	for _, end := range []string{"1", "2"} {
		c := long.For(scope, strings.Repeat("k", onceward.KeyBytesMax-1)+end, nil)
		f.runs(t, c, "effect", end)
		f.replays(t, c, end)
	}
	wide := long.For(scope, strings.Repeat("日", onceward.KeyBytesMax/3), nil)
	f.runs(t, wide, "effect", "wide")
	f.replays(t, wide, "wide")
	f.wantEffects(t, "effect", 3)
}

// request is a meaning under rules; the first is the current one.
func request(body string, rules ...fingerprint.Rule) fingerprint.Meaning {
	return &fingerprint.Request{Method: "POST", Operation: "o", ContentType: "application/json", Body: []byte(body), Rules: rules}
}

var (
	strict  = fingerprint.Rule{Version: 1}
	lenient = fingerprint.Rule{Version: 2, Ignore: []string{"/note"}}
)

func checksByOldRule[Tx any](t *testing.T, f *fixture[Tx]) {
	old := hasty.For(alice, "old", request(`{"sku":"BOOK","note":"a"}`, strict))
	f.runs(t, old, "effect", "by the old rule")
	f.replays(t, hasty.For(alice, "old", request(`{ "note": "a", "sku": "BOOK" }`, lenient, strict)), "by the old rule")
	f.fails(t, hasty.For(alice, "old", request(`{"sku":"BOOK","note":"b"}`, lenient, strict)), onceward.ErrKeyReused)

	f.runs(t, hasty.For(alice, "new", request(`{"sku":"BOOK","note":"a"}`, lenient, strict)), "effect", "by the new rule")
	f.replays(t, hasty.For(alice, "new", request(`{"sku":"BOOK","note":"b"}`, lenient, strict)), "by the new rule")
	f.wantEffects(t, "effect", 2)
}

func leavesNewerRule[Tx any](t *testing.T, f *fixture[Tx]) {
	f.runs(t, hasty.For(alice, "k", request(`{}`, lenient, strict)), "k", "accepted")
	older := hasty.For(alice, "k", request(`{}`, strict))
	f.fails(t, older, onceward.ErrUnavailable)
	f.fails(t, older, fingerprint.ErrVersion)
}

func refusesCollision[Tx any](t *testing.T, f *fixture[Tx]) {
	c := hasty.For(alice, "k", nil)
	f.runs(t, c, "k", "accepted")
	mine := find(t, f.engine(t), c)
	for part, change := range map[string]func(*onceward.Record){
		"operation": func(r *onceward.Record) { r.Operation = "another.v1" },
		"tenant":    func(r *onceward.Record) { r.Scope.Tenant = "ACME" },
		"principal": func(r *onceward.Record) { r.Scope.Principal = "alice " },
		"key":       func(r *onceward.Record) { r.Key = "K" },
	} {
		want := *mine
		want.Life = hasty.Retention
		change(&want)
		if _, err := f.Store.Find(t.Context(), &want); err == nil {
			t.Errorf("Find gave the record to a command with another %s", part)
		} else {
			wantError(t, err, onceward.ErrCollision)
		}
		attempt, _, err := f.Store.Claim(t.Context(), &want, 0)
		if attempt != nil {
			t.Errorf("the claim of a command with another %s was won", part)
			_ = attempt.Rollback(t.Context())
		}
		wantError(t, err, onceward.ErrCollision)
	}
}
