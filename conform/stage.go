package conform

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
)

// The bounds of a service under test, in bytes.
const (
	KeyBytesMax    = 255
	BodyBytesMax   = 64 << 10  // of a request
	StoredBytesMax = 16 << 10  // of a recorded answer
	AnswerBytesMax = 256 << 10 // of an answer that is held until the commit
)

// Order is what every request of the suite asks for.
type Order struct {
	Reference string  `json:"reference"`
	SKU       string  `json:"sku"`
	Quantity  int     `json:"quantity"`
	Weight    float64 `json:"weight"`
	Do        Do      `json:"do"`
}

// Do is what the handler is to do with an order, after its effect. What it does once it does in its first run for a
// reference; later runs accept the order.
type Do string

// What a handler does.
const (
	Accept       Do = ""               // answers 201
	Hold         Do = "hold"           // waits for the release, then accepts
	Heed         Do = "heed"           // once: waits for the end of its context and returns its error
	Refuse       Do = "refuse"         // writes a 422
	RefuseOnce   Do = "refuse once"    //
	Conclude     Do = "conclude"       // answers 402, which is final
	Fail         Do = "fail"           // returns ErrFailed
	FailOnce     Do = "fail once"      //
	WriteAndFail Do = "write and fail" // writes its 201 and returns ErrFailed
	PanicOnce    Do = "panic once"     //
	Large        Do = "large"          // accepts with more than StoredBytesMax
	Huge         Do = "huge"           // accepts with more than AnswerBytesMax
	Session      Do = "session"        // accepts with a cookie
)

// ErrFailed is the handler's error that the service, or its framework, answers with 418 and a body that holds "failed".
var ErrFailed = errors.New("conform: failed")

// Answer is what a handler is to do in the end: write, if there is a status, and return Err. Where it is Final, it is to
// be recorded whatever the status.
type Answer struct {
	Status int
	Header map[string]string
	Body   json.RawMessage
	Final  bool
	Err    error
}

// Stage is what a service in Go, the handler of an order, and the runner share. It is safe for concurrent use.
type Stage struct {
	mu      sync.Mutex
	scenes  map[string]*scene
	effects map[string]int
}

// scene is what happens to one reference.
type scene struct {
	runs                    int
	held, noticed, released chan struct{}
}

// scene is the one of a reference, and how often its handler has run.
func (s *Stage) scene(reference string) (_ *scene, runs int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scenes == nil {
		s.scenes = map[string]*scene{}
	}
	c := s.scenes[reference]
	if c == nil {
		c = &scene{held: make(chan struct{}), noticed: make(chan struct{}), released: make(chan struct{})}
		s.scenes[reference] = c
	}
	return c, c.runs
}

// Play does with an order as it says and tells what to answer. Its context is the work's.
func (s *Stage) Play(ctx context.Context, o Order) Answer {
	c, run := s.scene(o.Reference)
	s.mu.Lock()
	c.runs++
	s.mu.Unlock()
	first := run == 0
	switch {
	case o.Do == Hold && first:
		close(c.held)
		<-c.released
	case o.Do == Heed && first:
		close(c.held)
		select {
		case <-ctx.Done():
			close(c.noticed)
			return Answer{Err: ctx.Err()}
		case <-c.released: // the runner has given up
		}
	case o.Do == Refuse, o.Do == RefuseOnce && first:
		return Answer{Status: 422, Body: json.RawMessage(`{"error":"refused"}`)}
	case o.Do == Conclude:
		return Answer{Status: 402, Final: true, Body: json.RawMessage(`{"error":"concluded"}`)}
	case o.Do == Fail, o.Do == FailOnce && first:
		return Answer{Err: ErrFailed}
	case o.Do == PanicOnce && first:
		panic(ErrFailed)
	}
	return o.accepted(run + 1)
}

// accepted is an answer that no other run gives.
func (o Order) accepted(run int) Answer {
	id := o.Reference + "-" + strconv.Itoa(run)
	a := Answer{Status: 201, Header: map[string]string{"Location": "/orders/" + id, "Etag": `"` + id + `"`}}
	note := 0
	switch o.Do {
	case Large:
		note = 2 * StoredBytesMax
	case Huge:
		note = AnswerBytesMax
	case Session:
		a.Header["Set-Cookie"], a.Header["Cache-Control"] = "session="+id, "no-store"
	case WriteAndFail:
		a.Err = ErrFailed
	}
	a.Body, _ = json.Marshal(map[string]any{"id": id, "sku": o.SKU, "quantity": o.Quantity, "note": strings.Repeat("n", note)}) // cannot fail
	return a
}

// Held waits until the handler holds an order of the reference.
func (s *Stage) Held(ctx context.Context, reference string) error {
	c, _ := s.scene(reference)
	return until(ctx, c.held)
}

// Noticed waits until the handler of the reference has noticed that its caller hung up.
func (s *Stage) Noticed(ctx context.Context, reference string) error {
	c, _ := s.scene(reference)
	return until(ctx, c.noticed)
}

// Release lets the handlers of the reference go on. It may be called again.
func (s *Stage) Release(_ context.Context, reference string) error {
	c, _ := s.scene(reference)
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-c.released:
	default:
		close(c.released)
	}
	return nil
}

func until(ctx context.Context, signal <-chan struct{}) error {
	select {
	case <-signal:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Effects counts the committed effects of the reference.
func (s *Stage) Effects(_ context.Context, reference string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects[reference], nil
}

// Begin begins a transaction on the effects of the stage: memstore.New(stage.Begin).
func (s *Stage) Begin() *Tx { return &Tx{stage: s} }

// Tx is a transaction: its effects are there once it has committed. It is used by one goroutine.
type Tx struct {
	stage *Stage
	rows  []string
	ended bool
}

// Insert makes an effect under the reference.
func (x *Tx) Insert(reference string) error {
	if x.ended {
		return errors.New("conform: the transaction has ended")
	}
	x.rows = append(x.rows, reference)
	return nil
}

// Commit is the store's to call.
func (x *Tx) Commit(context.Context) error {
	x.ended = true
	x.stage.mu.Lock()
	defer x.stage.mu.Unlock()
	if x.stage.effects == nil {
		x.stage.effects = map[string]int{}
	}
	for _, reference := range x.rows {
		x.stage.effects[reference]++
	}
	return nil
}

// Rollback is the store's to call.
func (x *Tx) Rollback(context.Context) error {
	x.ended = true
	return nil
}
