package conform

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// run is one play of a case.
type run struct {
	target   Target
	names    *strings.Replacer // of {key} and {ref}
	key, ref string
	answers  map[string]*answer
	begun    map[string]*begun
}

// begun is a request that is under way.
type begun struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when the fields below are set
	answer *answer
	err    error
}

// Run plays the case against t, under a key and a reference of its own, and says where the service did otherwise. Any
// number of cases may be played at once.
func (c Case) Run(ctx context.Context, t Target) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout())
	defer cancel()
	r := &run{target: t, key: rand.Text(), ref: rand.Text(), answers: map[string]*answer{}, begun: map[string]*begun{}}
	longest := r.key + strings.Repeat("k", KeyBytesMax-len(r.key))
	r.names = strings.NewReplacer("{key}", r.key, "{ref}", r.ref, "{longest key}", longest)
	defer r.end()
	for i, step := range c.Steps {
		if err := r.step(ctx, step); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// end leaves no handler and no request behind.
func (r *run) end() {
	_ = r.target.Release(context.Background(), r.ref)
	for _, b := range r.begun {
		b.cancel()
		<-b.ended
	}
}

func (r *run) step(ctx context.Context, s Step) error {
	if err := r.act(ctx, s); err != nil {
		return err
	}
	if s.Want.Effects < 0 {
		return nil
	}
	switch got, err := r.target.Effects(ctx, r.ref); {
	case err != nil:
		return fmt.Errorf("count the effects: %w", err)
	case got != s.Want.Effects:
		return fmt.Errorf("%d effects, want %d", got, s.Want.Effects)
	}
	return nil
}

func (r *run) act(ctx context.Context, s Step) error {
	switch s.Act {
	case Begin:
		r.begin(ctx, s)
		return r.target.Held(ctx, r.ref)
	case HangUp:
		r.begun[s.Name].cancel()
		<-r.begun[s.Name].ended
		return nil
	case Notice:
		return r.target.Noticed(ctx, r.ref)
	case Release:
		return r.target.Release(ctx, r.ref)
	case Await:
		b := r.begun[s.Name]
		<-b.ended
		return r.compare(s, b.answer, b.err)
	}
	if s.Copies > 1 {
		return r.together(ctx, s)
	}
	answer, err := r.send(ctx, s.Request)
	return r.compare(s, answer, err)
}

func (r *run) begin(ctx context.Context, s Step) {
	ctx, cancel := context.WithCancel(ctx)
	b := &begun{cancel: cancel, ended: make(chan struct{})}
	r.begun[s.Name] = b
	go func() {
		defer close(b.ended)
		b.answer, b.err = r.send(ctx, s.Request)
	}()
}

// together sends copies of one request at the same moment.
func (r *run) together(ctx context.Context, s Step) error {
	answers, errs := make([]*answer, s.Copies), make([]error, s.Copies)
	var callers sync.WaitGroup
	start := make(chan struct{})
	for i := range answers {
		callers.Go(func() {
			<-start
			answers[i], errs[i] = r.send(ctx, s.Request)
		})
	}
	close(start)
	callers.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return r.compareAll(s, answers)
}

// compareAll compares the answers to copies of one request: all alike, and of fresh ones exactly one.
func (r *run) compareAll(s Step, answers []*answer) error {
	fresh := 0
	for _, a := range answers {
		if !a.replayed() {
			fresh++
		}
	}
	if s.Want.Marker == Fresh && fresh != 1 {
		return fmt.Errorf("%d of %d answers are no replay, want 1", fresh, len(answers))
	}
	for _, a := range answers {
		one := s
		if a.replayed() && s.Want.Marker == Fresh {
			one.Want.Marker = Replayed
		}
		if a != answers[0] {
			one.Name, one.Want.Same = "", s.Name
		}
		if err := r.compare(one, a, nil); err != nil {
			return err
		}
	}
	return nil
}

// send sends a request, once: the client is given no means to send it again by itself.
func (r *run) send(ctx context.Context, q Request) (*answer, error) {
	body := r.names.Replace(q.Body)
	body += strings.Repeat(" ", max(0, q.Bytes-len(body)))
	request, err := http.NewRequestWithContext(ctx, or(q.Method, http.MethodPost), r.target.URL+or(q.Path, orders), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.GetBody = nil
	if q.Chunked {
		request.ContentLength = -1
	}
	r.setHeader(request.Header, q)
	response, err := r.target.client().Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, 2*AnswerBytesMax))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return &answer{response.StatusCode, response.Header, string(data)}, nil
}

func (r *run) setHeader(header http.Header, q Request) {
	header.Set("Accept-Encoding", "identity") // or the client would decode the bytes that are compared
	if q.Body != "" {
		header.Set("Content-Type", "application/json")
	}
	if q.Caller != "nobody" {
		header.Set("Authorization", "Bearer "+or(q.Caller, "alice"))
	}
	keys := q.Keys
	if keys == nil {
		keys = []string{`"{key}"`}
	}
	for _, line := range keys {
		header.Add("Idempotency-Key", r.names.Replace(line))
	}
	for name, value := range q.Header {
		header.Set(name, value)
	}
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
