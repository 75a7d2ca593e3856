package oncetest

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	startTimeout  = 30 * time.Second // for the process to listen
	answerTimeout = time.Minute      // for an answer
	retryTimeout  = 30 * time.Second
	retryPause    = 20 * time.Millisecond // between answers with Retry-After
	againMax      = 3                     // runs that told nothing, one after the other
	bodyBytesMax  = 16 << 20              // of a request and of an answer
)

// pointOfAnswer is where nothing but the answer is left to lose.
const pointOfAnswer = "after the answer, which is lost"

// campaign is all runs of one plan. One goroutine uses it.
type campaign struct {
	plan    Plan
	name    string // the test's
	direct  string // the database
	stage   stage
	process *process
}

// run makes the run that is killed at the nth point, on a process that has served such a request before: what it prepares once
// is not a point. Last says that the request passes no such point.
func (c *campaign) run(n int) (r row, last bool, err error) {
	for range againMax {
		if err := c.alive(); err != nil {
			return row{}, false, err
		}
		if err := c.warmUp(); err != nil {
			return row{}, false, err
		}
		request, err := c.request()
		if err != nil {
			return row{}, false, err
		}
		before, err := c.plan.Effects(c.direct)
		if err != nil {
			return row{}, false, fmt.Errorf("effects: %w", err)
		}
		point, again, err := c.die(n, request)
		if err != nil {
			return row{}, false, err
		}
		if !again {
			r, err = c.judge(point, request, before)
			return r, point == pointOfAnswer, err
		}
	}
	return row{}, false, fmt.Errorf("the log began anew in %d runs, one after the other", againMax)
}

// alive starts the process if it was killed.
func (c *campaign) alive() (err error) {
	if c.process.alive() {
		return nil
	}
	c.process, err = start(c.name, c.stage.database())
	return err
}

// warmUp has another intent done, undisturbed.
func (c *campaign) warmUp() error {
	request, err := c.request()
	if err == nil {
		_, err = c.undisturbed(request)
	}
	return err
}

// undisturbed sends a request that must succeed.
func (c *campaign) undisturbed(request *http.Request) (answer, error) {
	a := c.persist(request)
	if a.success() {
		return a, nil
	}
	return a, fmt.Errorf("a request that nobody disturbed, %s %s, was answered %s: %.500s\n%s", request.Method, request.URL.Path, a, a.body, c.process.said())
}

// errSend ends Plan.Request where Run.Send has failed.
type errSend struct{ error }

// request asks the plan for a new intent's request.
func (c *campaign) request() (request *http.Request, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			send, ok := failed.(errSend)
			if !ok {
				panic(failed)
			}
			err = send.error
		}
	}()
	run := Run{Key: "crash-" + rand.Text(), Send: func(r *http.Request) *http.Response {
		plain, err := portable(r)
		if err != nil {
			panic(errSend{err})
		}
		a, err := c.undisturbed(plain)
		if err != nil {
			panic(errSend{err})
		}
		return &http.Response{StatusCode: a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body))}
	}}
	return portable(c.plan.Request(run))
}

// portable is a request that can be sent to any process, any number of times.
func portable(r *http.Request) (*http.Request, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, bodyBytesMax)); err != nil {
			return nil, err
		}
	}
	plain, err := http.NewRequest(r.Method, "http://"+"127.0.0.1"+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	plain.Header = r.Header.Clone()
	return plain, nil
}

// die sends the request to a process that is killed at the nth point, or after its answer.
func (c *campaign) die(n int, request *http.Request) (point string, again bool, err error) {
	armed := request.Clone(request.Context())
	if err := c.stage.arm(n, armed, c.process.kill); err != nil {
		return "", false, err
	}
	first := c.send(armed)
	dead := first.status == 0
	if dead && !c.process.ends() {
		return "", false, fmt.Errorf("no answer from a process that lives: %w", first.err)
	}
	point, again, err = c.stage.disarm(dead)
	switch {
	case err != nil || again:
	case point == "" && dead:
		err = fmt.Errorf("the process ended by itself: %s", c.process.said())
	case point == "" && !first.success():
		err = fmt.Errorf("the request, undisturbed, was answered %s: %.500s", first, first.body)
	}
	c.process.kill()
	return cmp.Or(point, pointOfAnswer), again, err
}

// judge retries and counts.
func (c *campaign) judge(point string, request *http.Request, before int) (row, error) {
	if err := c.alive(); err != nil {
		return row{}, err
	}
	r := row{point: point, retry: c.persist(request), third: c.persist(request)}
	if err := c.stage.settle(); err != nil {
		return row{}, err
	}
	after, err := c.plan.Effects(c.direct)
	if err != nil {
		return row{}, fmt.Errorf("effects: %w", err)
	}
	r.effects = after - before
	return r, nil
}

// answer is what came back; status 0 is none.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

func (a answer) success() bool { return a.status >= 200 && a.status < 300 }

// persist sends a request until it is answered for good.
func (c *campaign) persist(request *http.Request) answer {
	for deadline := time.Now().Add(retryTimeout); ; <-time.After(retryPause) {
		a := c.send(request)
		if a.header.Get("Retry-After") == "" || time.Now().After(deadline) {
			return a
		}
	}
}

// send sends a request once. A transport of its own, without a connection that has been used: Go's client would send a request
// again by itself there.
func (c *campaign) send(request *http.Request) answer {
	r := request.Clone(request.Context())
	r.URL.Host, r.Close = c.process.address, true
	body, err := request.GetBody()
	if err != nil {
		return answer{err: err}
	}
	r.Body = body
	client := http.Client{Timeout: answerTimeout, Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: noRedirect}
	response, err := client.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.body, a.err = io.ReadAll(io.LimitReader(response.Body, bodyBytesMax)); a.err != nil {
		return answer{err: errors.Join(errors.New("the answer broke off"), a.err)}
	}
	return a
}

func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
