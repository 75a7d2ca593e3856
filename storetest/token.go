package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// confirm takes tokens: five minutes to submit one, an hour to confirm its result.
var confirm = &onceward.Operation{Name: "storetest-confirm.v1", Retention: time.Hour, Submit: 5 * time.Minute, Wait: onceward.WaitMax}

func tokenTests[Tx any]() []test[Tx] {
	return []test[Tx]{
		{name: "R3.7 a token is used by one of many", run: tokenUsedOnce[Tx]},
		{name: "R3.7 the work reads what its token was issued for", run: tokenSubject[Tx]},
		{name: "R3.7 a key that was not issued, or to another, is refused", run: tokenNotIssued[Tx]},
		{name: "R3.7 a token of a transaction that rolled back was not issued", needs: []Feature{JoinCommitsWithCaller}, run: tokenRolledBack[Tx]},
		{name: "R3.7 a token that was not submitted in its time is refused for ever", run: tokenExpires[Tx]},
		{name: "R3.7 a used token confirms its result past its time to be submitted", run: tokenConfirms[Tx]},
		{name: "R3.7 a result that is over is not made again while the token could be submitted", run: tokenOver[Tx]},
		{name: "R3.7 a work that fails leaves its token as it was", run: tokenOutlivesFailure[Tx]},
		{name: "R3.7 a token is submitted in the caller's transaction", run: tokenJoined[Tx]},
		{name: "R3.11 a token is found in each of its states", run: tokenFound[Tx]},
		{name: "R3.5 commands without a key are one within the window", run: windowMerges[Tx]},
		{name: "F40 a key overrides the window", run: windowOverridden[Tx]},
	}
}

// issue has a token issued and its transaction committed.
func (f *fixture[Tx]) issue(t testing.TB, op *onceward.Operation, subject string) (token string) {
	t.Helper()
	tx, commit, _ := f.Begin(t)
	token, err := f.engine(t).Issue(t.Context(), tx, op, alice, subject)
	if err != nil {
		t.Fatalf("Issue: %v", err)
	}
	end(t, commit)
	return token
}

func tokenUsedOnce[Tx any](t *testing.T, f *fixture[Tx]) {
	token := f.issue(t, confirm, "quote 1")
	c := confirm.For(alice, token, "a book")
	var runs atomic.Int64
	for _, r := range f.crowd(t, 16, func(int) (onceward.Command, onceward.Work[Tx]) { return c, f.counts("k", &runs) }) {
		wantReply(t, r, "k run 1", r.result.Replayed)
	}
	f.fails(t, confirm.For(alice, token, "two books"), onceward.ErrKeyReused)
	f.wantEffects(t, "k", 1)
}

func tokenSubject[Tx any](t *testing.T, f *fixture[Tx]) {
	for _, subject := range []string{"quote 1", ""} {
		c := confirm.For(alice, f.issue(t, confirm, subject), nil)
		must(t, f.engine(t), c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
			if got := onceward.Subject(ctx); got != subject {
				t.Errorf("the subject is %q, want %q", got, subject)
			}
			return outcome("accepted"), f.Write(ctx, tx, "k")
		})
	}
	must(t, f.engine(t), hasty.For(alice, "k", nil), func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		if got := onceward.Subject(ctx); got != "" {
			t.Errorf("a work without a token reads the subject %q", got)
		}
		return outcome("accepted"), f.Write(ctx, tx, "k")
	})
}

func tokenNotIssued[Tx any](t *testing.T, f *fixture[Tx]) {
	token := f.issue(t, confirm, "quote 1")
	other := with(confirm, func(o *onceward.Operation) { o.Name = "storetest-other.v1" })
	f.fails(t, confirm.For(alice, "a guess", nil), onceward.ErrNotIssued)
	f.fails(t, other.For(alice, token, nil), onceward.ErrNotIssued)
	f.fails(t, confirm.For(onceward.Scope{Tenant: "acme", Principal: "bob"}, token, nil), onceward.ErrNotIssued)
	f.runs(t, confirm.For(alice, token, nil), "k", "accepted")
	f.fails(t, confirm.For(onceward.Scope{Tenant: "acme", Principal: "bob"}, token, nil), onceward.ErrNotIssued)
}

func tokenRolledBack[Tx any](t *testing.T, f *fixture[Tx]) {
	tx, _, rollback := f.Begin(t)
	token, err := f.engine(t).Issue(t.Context(), tx, confirm, alice, "quote 1")
	if err != nil {
		t.Fatalf("Issue: %v", err)
	}
	end(t, rollback)
	f.fails(t, confirm.For(alice, token, nil), onceward.ErrNotIssued)
	f.wantRecords(t, 0)
}

func tokenExpires[Tx any](t *testing.T, f *fixture[Tx]) {
	c := confirm.For(alice, f.issue(t, confirm, "quote 1"), nil)
	for range 2 {
		f.Age(t, 5*time.Minute)
		f.fails(t, c, onceward.ErrTokenExpired)
	}
	f.Age(t, 48*time.Hour)
	if _, err := f.Store.Sweep(t.Context(), 0, 100); err != nil {
		t.Fatal(err)
	}
	f.wantRecords(t, 0)
	f.fails(t, c, onceward.ErrNotIssued)
}

func tokenConfirms[Tx any](t *testing.T, f *fixture[Tx]) {
	c := confirm.For(alice, f.issue(t, confirm, "quote 1"), "a book")
	f.runs(t, c, "k", "accepted")
	f.Age(t, 30*time.Minute)
	f.replays(t, c, "accepted")
	f.fails(t, confirm.For(c.Scope, c.Key, "two books"), onceward.ErrKeyReused)
	f.Age(t, 31*time.Minute)
	f.fails(t, c, onceward.ErrExpired)
	f.Age(t, 48*time.Hour)
	f.fails(t, c, onceward.ErrTokenExpired)
	f.wantEffects(t, "k", 1)
}

func tokenOver[Tx any](t *testing.T, f *fixture[Tx]) {
	short := with(confirm, func(o *onceward.Operation) { o.Retention, o.Submit = time.Minute, time.Hour })
	c := short.For(alice, f.issue(t, short, "quote 1"), nil)
	f.runs(t, c, "k", "accepted")
	for range 5 {
		f.Age(t, 20*time.Minute)
		if _, err := f.Store.Sweep(t.Context(), 0, 100); err != nil {
			t.Fatal(err)
		}
		_, err := f.engine(t).Do(t.Context(), c, unreachable[Tx](t))
		if !errors.Is(err, onceward.ErrExpired) && !errors.Is(err, onceward.ErrTokenExpired) && !errors.Is(err, onceward.ErrNotIssued) {
			t.Errorf("the error is %v, want one that says that the time is over", err)
		}
	}
	f.wantEffects(t, "k", 1)
}

func tokenOutlivesFailure[Tx any](t *testing.T, f *fixture[Tx]) {
	c := confirm.For(alice, f.issue(t, confirm, "quote 1"), nil)
	_, err := f.engine(t).Do(t.Context(), c, func(ctx context.Context, tx Tx) (onceward.Outcome, error) {
		_ = f.Write(ctx, tx, "failed")
		return onceward.Outcome{}, errWork
	})
	wantError(t, err, errWork)
	f.runs(t, c, "k", "accepted")
}

func tokenJoined[Tx any](t *testing.T, f *fixture[Tx]) {
	tx, commit, _ := f.Begin(t)
	if _, err := onceward.Join(t.Context(), f.engine(t), tx, confirm.For(alice, "a guess", nil), f.answers("guessed", "joined")); !errors.Is(err, onceward.ErrNotIssued) {
		t.Errorf("a guess is joined: %v", err)
	}
	end(t, commit)
	c := confirm.For(alice, f.issue(t, confirm, "quote 1"), nil)
	late := confirm.For(alice, f.issue(t, confirm, "quote 2"), nil)
	tx, commit, _ = f.Begin(t)
	f.joins(t, tx, c, "k", "joined")
	end(t, commit)
	f.joined(t, c, "joined")
	f.Age(t, 5*time.Minute)
	tx, commit, _ = f.Begin(t)
	if _, err := onceward.Join(t.Context(), f.engine(t), tx, late, f.answers("late", "joined")); !errors.Is(err, onceward.ErrTokenExpired) {
		t.Errorf("a token that came too late is joined: %v", err)
	}
	f.joins(t, tx, c, "k", "joined")
	end(t, commit)
	f.wantEffects(t, "k", 1)
	f.wantEffects(t, "late", 0)
}

func tokenFound[Tx any](t *testing.T, f *fixture[Tx]) {
	c := confirm.For(alice, f.issue(t, confirm, "quote 1"), nil)
	unused := confirm.For(alice, f.issue(t, confirm, "quote 2"), nil)
	want := func(c onceward.Command, state onceward.State) {
		t.Helper()
		switch r := find(t, f.engine(t), c); {
		case r == nil:
			t.Errorf("nothing is found, want %s", state)
		case r.State != state || r.Operation != confirm.Name || r.ID != c.ID():
			t.Errorf("found %s of %s, want %s", r.State, r.Operation, state)
		}
	}
	want(c, onceward.StateIssued)
	f.runs(t, c, "k", "accepted")
	want(c, onceward.StateCompleted)
	f.Age(t, 6*time.Minute)
	want(c, onceward.StateCompleted)
	want(unused, onceward.StateExpired)
	if r := find(t, f.engine(t), confirm.For(alice, "a guess", nil)); r != nil {
		t.Errorf("a guess is found: %+v", r)
	}
}

// within is an operation whose commands are the same for five seconds, where they mean the same.
var within = &onceward.Operation{Name: "storetest-window.v1", Retention: time.Hour, Window: 5 * time.Second, Wait: onceward.WaitMax}

func windowMerges[Tx any](t *testing.T, f *fixture[Tx]) {
	c := within.For(alice, "", "december")
	var runs atomic.Int64
	for _, r := range f.crowd(t, 16, func(int) (onceward.Command, onceward.Work[Tx]) { return c, f.counts("k", &runs) }) {
		wantReply(t, r, "k run 1", r.result.Replayed)
	}
	f.runs(t, within.For(alice, "", "november"), "another month", "accepted")
	f.runs(t, within.For(onceward.Scope{Tenant: "acme", Principal: "bob"}, "", "december"), "another caller", "accepted")
	f.Age(t, 5*time.Second)
	f.runs(t, c, "k", "again")
	f.replays(t, c, "again")
	f.wantEffects(t, "k", 2)
}

func windowOverridden[Tx any](t *testing.T, f *fixture[Tx]) {
	f.runs(t, within.For(alice, "", "december"), "k", "by content")
	f.runs(t, within.For(alice, "first", "december"), "k", "the first")
	f.runs(t, within.For(alice, "second", "december"), "k", "the second")
	f.Age(t, 30*time.Minute)
	f.replays(t, within.For(alice, "first", "december"), "the first")
	f.fails(t, within.For(alice, "first", "november"), onceward.ErrKeyReused)
	f.wantEffects(t, "k", 3)
}
