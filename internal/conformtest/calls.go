package conformtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/internal/features"
	"github.com/onceward/onceward/memstore"
	"github.com/onceward/onceward/rpconce"
)

// The procedures of a service of calls.
const (
	Create  = "Create"  // a duplicate is told at once
	Await   = "Await"   // a duplicate waits
	Inquire = "Inquire" // is not the door's: it answers without a key and has no effect
)

// Call is a request to a service of calls.
type Call struct {
	Procedure string // Create if empty
	Caller    string // alice if empty, nobody if "nobody"
	Suspended bool
	Keys      []string
	Order     conform.Order
}

// Reply is what the service answered.
type Reply struct {
	Body     string // the message, in a deterministic form
	Replayed []string
	ID       string
	Session  string // the header "session"
	Code     rpconce.Code
	Message  string
	Reason   string        // of an ErrorInfo
	ErrorID  string        // in its metadata
	Retry    time.Duration // of a RetryInfo
}

// Calls is a service of calls that is under test: one of Orders, Patient and a free procedure.
type Calls struct {
	*conform.Stage
	Send func(ctx context.Context, c Call) Reply
}

// What the handler of a service of calls answers where the order says so. The service's handler is to return these codes
// with "refused", "concluded" and "failed" as the message.
const (
	RefusedCode   rpconce.Code = 9 // failed precondition
	ConcludedCode rpconce.Code = 9
	FailedCode    rpconce.Code = 6 // already exists: no code of the door
)

// LargeMessage is more than a service of calls has to read; OutcomeBytesMax bounds its outcomes.
const (
	LargeMessage    = 128 << 10
	OutcomeBytesMax = 4 * conform.StoredBytesMax
)

// NewCalls is a service of calls whose effects are on its stage.
func NewCalls(t testing.TB, scope func(context.Context) (onceward.Scope, error), authorize func(context.Context, *rpconce.Call) error) (*Service[*conform.Tx], *rpconce.Door[*conform.Tx]) {
	t.Helper()
	s := &Service[*conform.Tx]{insert: insert}
	door, err := rpconce.New(s.engine(t, memstore.New(s.Begin)), rpconce.Options{
		Scope: scope, Authorize: authorize, Report: func(context.Context, *rpconce.Call, error) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, door
}

// play is one play of a case of calls.
type play struct {
	t        *testing.T
	calls    Calls
	key, ref string
}

// call is a call of alice under the play's key.
func (p *play) call(do conform.Do) Call {
	return Call{Keys: []string{`"` + p.key + `"`}, Order: conform.Order{Reference: p.ref, SKU: "BOOK", Quantity: 2, Do: do}}
}

func (p *play) send(c Call) Reply {
	p.t.Helper()
	return p.calls.Send(p.t.Context(), c)
}

// accepted fails unless r is an answer, and a replay or not.
func (p *play) accepted(r Reply, replayed bool) Reply {
	p.t.Helper()
	marker := []string(nil)
	if replayed {
		marker = []string{"true"}
	}
	if r.Code != 0 || !slices.Equal(r.Replayed, marker) || r.ID == "" {
		p.t.Fatalf("answered %+v, want a message, replayed: %v", r, replayed)
	}
	return r
}

// replays fails unless the call is answered as first was.
func (p *play) replays(c Call, first Reply) {
	p.t.Helper()
	if r := p.accepted(p.send(c), true); r.Body != first.Body || r.ID != first.ID {
		p.t.Fatalf("replayed %+v, want %+v", r, first)
	}
}

// refused fails unless r is one of the door's errors, which says nothing of the key or of what it stands for.
func (p *play) refused(r Reply, code rpconce.Code, reason string) Reply {
	p.t.Helper()
	if r.Code != code || r.Reason != reason || r.Message == "" || len(r.Replayed) > 0 {
		p.t.Fatalf("answered %+v, want %d %s", r, code, reason)
	}
	if strings.Contains(r.Message, p.key) || strings.Contains(r.Message, p.ref) {
		p.t.Fatalf("the error repeats what was sent: %+v", r)
	}
	return r
}

// failed fails unless r is the handler's own error.
func (p *play) failed(r Reply, code rpconce.Code, message string, replayed bool) {
	p.t.Helper()
	if r.Code != code || r.Message != message || r.Reason != "" || (len(r.Replayed) > 0) != replayed {
		p.t.Fatalf("answered %+v, want %d %s, replayed: %v", r, code, message, replayed)
	}
}

func (p *play) effects(want int) {
	p.t.Helper()
	if got, _ := p.calls.Effects(p.t.Context(), p.ref); got != want {
		p.t.Fatalf("%d effects, want %d", got, want)
	}
}

// held sends a call and waits until its handler holds it.
func (p *play) held(ctx context.Context, c Call) <-chan Reply {
	p.t.Helper()
	answer := make(chan Reply, 1)
	go func() { answer <- p.calls.Send(ctx, c) }()
	if err := p.calls.Held(p.t.Context(), p.ref); err != nil {
		p.t.Fatal(err)
	}
	return answer
}

// RunCalls plays the cases of conform that a service of calls can have, and has the README's table say so.
func RunCalls(t *testing.T, column string, calls Calls) {
	PlayCalls(t, calls)
	lacks := conform.Features()
	for _, c := range callCases {
		lacks = slices.DeleteFunc(lacks, func(f conform.Feature) bool { return f == c.feature })
	}
	features.Adapter(t, column, lacks...)
}

// PlayCalls is RunCalls for a second service of one column.
func PlayCalls(t *testing.T, calls Calls) {
	for _, c := range callCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &play{t: t, calls: calls, key: rand.Text(), ref: rand.Text()}
			defer func() { _ = calls.Release(context.Background(), p.ref) }()
			c.run(p)
		})
	}
}

var callCases = []struct {
	feature conform.Feature
	name    string
	run     func(p *play)
}{
	{conform.Replay, "R2.3 a retry gets the first answer", func(p *play) {
		first := p.accepted(p.send(p.call(conform.Accept)), false)
		p.replays(p.call(conform.Accept), first)
		p.effects(1)
	}},
	{conform.Meaning, "R2.2 entries in another order are the same call", func(p *play) {
		first := p.accepted(p.send(p.call(conform.Accept)), false)
		for range 20 { // a map is encoded in another order each time
			p.replays(p.call(conform.Accept), first)
		}
		p.effects(1)
	}},
	{conform.Meaning, "F06 another meaning is refused, and the first answer stays", func(p *play) {
		first := p.accepted(p.send(p.call(conform.Accept)), false)
		other := p.call(conform.Accept)
		other.Order.Quantity++
		if r := p.refused(p.send(other), rpconce.FailedPrecondition, "KEY_REUSED"); r.Retry != 0 {
			p.t.Errorf("it is to be sent again in %v", r.Retry)
		}
		p.replays(p.call(conform.Accept), first)
		p.effects(1)
	}},
	{conform.Meaning, "one key of two operations is two keys", func(p *play) {
		p.accepted(p.send(p.call(conform.Accept)), false)
		other := p.call(conform.Accept)
		other.Procedure = Await
		p.accepted(p.send(other), false)
		p.effects(2)
	}},
	{conform.Keys, "F21 a key that cannot be is refused before anything is claimed", refusesKeys},
	{conform.Keys, "B6 the quoted key and the bare one are one key", func(p *play) {
		first := p.accepted(p.send(p.call(conform.Accept)), false)
		bare := p.call(conform.Accept)
		bare.Keys = []string{p.key}
		p.replays(bare, first)
	}},
	{conform.Callers, "F19 another caller's same key is another key", func(p *play) {
		first := p.accepted(p.send(p.call(conform.Accept)), false)
		bobs := p.call(conform.Accept)
		bobs.Caller = "bob"
		p.accepted(p.send(bobs), false)
		p.replays(p.call(conform.Accept), first)
		p.effects(2)
	}},
	{conform.Callers, "R2.1 a retry is authenticated and authorised again", func(p *play) {
		p.accepted(p.send(p.call(conform.Accept)), false)
		for _, quantity := range []int{2, 3} {
			c := p.call(conform.Accept)
			c.Order.Quantity, c.Suspended = quantity, true
			p.refused(p.send(c), rpconce.PermissionDenied, "FORBIDDEN")
			c.Suspended, c.Caller = false, "nobody"
			p.refused(p.send(c), rpconce.Unauthenticated, "UNAUTHENTICATED")
		}
		p.effects(1)
	}},
	{conform.InFlight, "F06 a duplicate of a running call is told at once, and later gets its answer", func(p *play) {
		running := p.held(p.t.Context(), p.call(conform.Hold))
		if r := p.refused(p.send(p.call(conform.Hold)), rpconce.Unavailable, "IN_FLIGHT"); r.Retry != rpconce.RetryAfterDefault {
			p.t.Errorf("it is to be sent again in %v", r.Retry)
		}
		p.refused(p.send(p.call(conform.Accept)), rpconce.FailedPrecondition, "KEY_REUSED")
		_ = p.calls.Release(p.t.Context(), p.ref)
		first := p.accepted(<-running, false)
		p.replays(p.call(conform.Hold), first)
		p.effects(1)
	}},
	{conform.AtOnce, "R1.6 twenty at once are one effect and one answer", callsAtOnce},
	{conform.Refusals, "F08 a refusal is forgotten", func(p *play) {
		p.failed(p.send(p.call(conform.RefuseOnce)), RefusedCode, "refused", false)
		p.effects(0)
		first := p.accepted(p.send(p.call(conform.RefuseOnce)), false)
		p.replays(p.call(conform.RefuseOnce), first)
		p.effects(1)
	}},
	{conform.Refusals, "a final refusal is replayed", func(p *play) {
		p.failed(p.send(p.call(conform.Conclude)), ConcludedCode, "concluded", false)
		p.failed(p.send(p.call(conform.Conclude)), ConcludedCode, "concluded", true)
		p.effects(1)
	}},
	{conform.Errors, "a handler's error rolls back and is answered as it is", func(p *play) {
		p.failed(p.send(p.call(conform.Fail)), FailedCode, "failed", false)
		p.failed(p.send(p.call(conform.Fail)), FailedCode, "failed", false)
		p.effects(0)
		p.accepted(p.send(p.call(conform.Accept)), false)
		p.effects(1)
	}},
	{conform.Panics, "R2.8 a panic leaves nothing", func(p *play) {
		if r := p.send(p.call(conform.PanicOnce)); r.Code != rpconce.Internal || r.Reason != "" {
			p.t.Errorf("answered %+v, want what the service makes of a panic", r)
		}
		p.effects(0)
		p.accepted(p.send(p.call(conform.PanicOnce)), false)
		p.effects(1)
	}},
	{conform.HungUp, "F03 a caller who hangs up leaves one effect", func(p *play) {
		hangsUp(p, conform.Hold, p.calls.Release)
		p.effects(1)
	}},
	{conform.Noticed, "F03 the work notices, and may end", func(p *play) {
		hangsUp(p, conform.Heed, p.calls.Noticed)
		p.effects(1)
	}},
	{conform.Bounds, "a message that is too large claims nothing", func(p *play) {
		large := p.call(conform.Accept)
		large.Order.SKU = strings.Repeat("s", LargeMessage)
		if r := p.send(large); r.Code != 8 { // resource exhausted: the protocol's own word
			p.t.Errorf("answered %+v", r)
		}
		p.accepted(p.send(p.call(conform.Accept)), false)
		p.effects(1)
	}},
	{conform.Bounds, "F11 an answer that is too large rolls back", func(p *play) {
		p.refused(p.send(p.call(conform.Huge)), rpconce.Internal, "ANSWER_TOO_LARGE")
		p.effects(0)
	}},
	{conform.Headers, "F10 what a handler puts on its answer is not replayed", func(p *play) {
		if first := p.accepted(p.send(p.call(conform.Session)), false); first.Session == "" {
			p.t.Errorf("the first answer has no session: %+v", first)
		}
		if retry := p.accepted(p.send(p.call(conform.Session)), true); retry.Session != "" {
			p.t.Errorf("the replay has the first's session: %+v", retry)
		}
	}},
	{conform.SafeMethods, "a procedure that is not the door's needs no key", func(p *play) {
		if r := p.send(Call{Procedure: Inquire, Order: conform.Order{Reference: p.ref}}); r.Code != 0 || r.ID != "" || len(r.Replayed) > 0 {
			p.t.Errorf("answered %+v", r)
		}
		p.effects(0)
	}},
}

func refusesKeys(p *play) {
	for _, c := range []struct {
		reason string
		keys   []string
	}{
		{"KEY_MISSING", nil},
		{"KEY_MALFORMED", []string{""}},
		{"KEY_MALFORMED", []string{`"  "`}},
		{"KEY_MALFORMED", []string{`"` + p.key}},
		{"KEY_MALFORMED", []string{p.key + " " + p.key}},
		{"KEY_REPEATED", []string{p.key, p.key}},
		{"KEY_REPEATED", []string{p.key + ", " + p.key}},
		{"KEY_TOO_LONG", []string{strings.Repeat("k", rpconce.KeyBytesMaxDefault+1)}},
	} {
		call := p.call(conform.Accept)
		call.Keys = c.keys
		p.refused(p.send(call), rpconce.InvalidArgument, c.reason)
	}
	p.accepted(p.send(p.call(conform.Accept)), false)
	p.effects(1)
}

func callsAtOnce(p *play) {
	call := p.call(conform.Accept)
	call.Procedure = Await
	replies := make([]Reply, 20)
	var callers sync.WaitGroup
	start := make(chan struct{})
	for i := range replies {
		callers.Go(func() {
			<-start
			replies[i] = p.send(call)
		})
	}
	close(start)
	callers.Wait()
	fresh := 0
	for _, r := range replies {
		if len(r.Replayed) == 0 {
			fresh++
		}
		if r.Code != 0 || r.Body != replies[0].Body {
			p.t.Errorf("answered %+v and %+v", replies[0], r)
		}
	}
	if fresh != 1 {
		p.t.Errorf("%d of 20 answers are no replay, want 1", fresh)
	}
	p.effects(1)
}

// hangsUp has the caller of a call go away, then the next thing happen, and the call be sent again.
func hangsUp(p *play, do conform.Do, next func(ctx context.Context, reference string) error) {
	call := p.call(do)
	call.Procedure = Await
	ctx, cancel := context.WithCancel(p.t.Context())
	running := p.held(ctx, call)
	cancel()
	if r := <-running; r.Code != rpconce.Canceled {
		p.t.Errorf("who hung up was answered %+v", r)
	}
	if err := next(p.t.Context(), p.ref); err != nil {
		p.t.Fatal(fmt.Errorf("after the caller hung up: %w", err))
	}
	retry := p.send(call)
	p.accepted(retry, len(retry.Replayed) > 0)
	p.replays(call, retry)
}
