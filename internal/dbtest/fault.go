package dbtest

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Moment says when a [Fault] strikes, relative to the chunk of bytes that it waits for.
type Moment int

// The moments, each with what the server hears of the chunk. The client's connection is closed in all of them, and what the server still
// answers is lost.
const (
	// Before the chunk: the server hears nothing of it and sees its connection end.
	Before Moment = iota
	// Within the chunk: the server hears what comes before the text, and its first half.
	Within
	// After the chunk has been forwarded: the client is cut at once, while the server may still be working.
	After
	// Answered, when the server has done its work: only its answer is lost.
	Answered
	// Late: the client is cut, and the chunk reaches the server Delay later.
	Late
	// Blackhole: the client is cut, and the server hears nothing at all, not even the end of its connection, until Delay later.
	Blackhole
	// Hang: nobody hears anything for Delay; then both connections are cut and the chunk is lost.
	Hang
)

// scripts say what each moment does, step by step. The server's connection is closed at the end of each.
var scripts = map[Moment][]step{
	Before:    {cutClient},
	Within:    {forwardPart, cutClient},
	After:     {forwardAll, cutClient, awaitAnswer},
	Answered:  {forwardAll, awaitAnswer, cutClient},
	Late:      {cutClient, delay, forwardAll, awaitAnswer},
	Blackhole: {cutClient, delay},
	Hang:      {announce, delay, cutClient},
}

// Fault is a failure of the network at a chosen moment.
type Fault struct {
	// On is the text whose first appearance from client to server lets the fault strike, in any case of its letters. It is looked
	// for in the bytes as they are: an encrypted connection shows nothing, and a statement that was prepared before shows only
	// its parameters. Defaults to whatever comes next.
	On string
	// Moment is when it strikes. Defaults to Before.
	Moment Moment
	// Delay is the time that Late, Blackhole and Hang take. Defaults to none.
	Delay time.Duration
	// Client is the only client that it strikes: its connection's LocalAddr().String(). Defaults to any.
	Client string
	// Skip is how many chunks with the text it lets pass first. Defaults to 0.
	Skip int
	// Times is how many connections it strikes before it is spent. Defaults to 1.
	Times int
}

// Armed is a fault that waits for its moment, or had it.
type Armed struct {
	fault  Fault
	text   []byte // in lower case
	struck chan struct{}
	over   chan struct{}
	first  sync.Once
	last   sync.Once
	count  atomic.Int64

	skip, left int // guarded by the proxy's lock
}

// Cut arms a fault. Of several that match the same chunk, the one armed first strikes.
func (p *Proxy) Cut(fault Fault) *Armed {
	armed := &Armed{
		fault: fault, text: []byte(strings.ToLower(fault.On)), skip: fault.Skip, left: max(1, fault.Times),
		struck: make(chan struct{}), over: make(chan struct{}),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = append(p.armed, armed)
	return armed
}

// Heal disarms all faults; those that strike at this moment go on.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = nil
}

// Struck is closed when the fault's first client has been cut, or has begun to hang.
func (a *Armed) Struck() <-chan struct{} { return a.struck }

// Over is closed when the server's side of the first connection struck has ended too, so that nothing more will reach the server from it.
func (a *Armed) Over() <-chan struct{} { return a.over }

// Count is how many connections the fault has struck.
func (a *Armed) Count() int { return int(a.count.Load()) }

// match finds the fault that strikes this chunk, and how much of the chunk comes before the middle of the text that it waited for.
func (p *Proxy) match(client string, tail, data []byte) (*Armed, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, armed := range p.armed {
		if middle, found := armed.find(client, tail, data); found && armed.take() {
			return armed, middle
		}
	}
	return nil, 0
}

// find looks for the text in a chunk, and in the end of the bytes before it that the chunk may complete.
func (a *Armed) find(client string, tail, data []byte) (middle int, found bool) {
	if a.fault.Client != "" && a.fault.Client != client {
		return 0, false
	}
	if len(a.text) == 0 {
		return len(data) / 2, true
	}
	before := tail[max(0, len(tail)-len(a.text)+1):]
	start := bytes.Index(bytes.ToLower(slices.Concat(before, data)), a.text)
	return max(0, start+len(a.text)/2-len(before)), start >= 0
}

// take counts a match and reports whether the fault strikes at it. The proxy is locked.
func (a *Armed) take() bool {
	if a.skip > 0 {
		a.skip--
		return false
	}
	if a.left == 0 {
		return false
	}
	a.left--
	return true
}

// strike is one fault at one connection.
type strike struct {
	*Armed
	*link
	data   []byte
	middle int
}

type step func(s strike)

// run plays the script. Answers are dropped first: the client must hear nothing of what the server does from here on.
func (s strike) run() {
	s.count.Add(1)
	s.muted.Store(true)
	for _, do := range scripts[s.fault.Moment] {
		do(s)
	}
	s.link.close()
	s.last.Do(func() { close(s.over) })
}

func announce(s strike) { s.first.Do(func() { close(s.struck) }) }

func cutClient(s strike) {
	_ = s.client.Close()
	announce(s)
}

func forwardPart(s strike) { _, _ = s.server.Write(s.data[:s.middle]) }

func forwardAll(s strike) { _, _ = s.server.Write(s.data) }

func awaitAnswer(s strike) {
	select {
	case <-s.answered:
	case <-s.closed:
	}
}

func delay(s strike) {
	select {
	case <-time.After(s.fault.Delay):
	case <-s.closed:
	}
}
