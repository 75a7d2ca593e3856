package proofs

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// keyMark is in every key, so that a key can be found where it should not be.
const keyMark = "k3y-"

// request is one order. The zero values are alice's checkout of two books.
type request struct {
	path, token, key, body string
}

// order is a checkout under a key.
func order(key string) request { return request{key: key} }

func (r request) with(body string) request {
	r.body = body
	return r
}

func (r request) by(token string) request {
	r.token = token
	return r
}

func (r request) to(path string) request {
	r.path = path
	return r
}

func (r request) filled() request {
	if r.path == "" {
		r.path = "/orders"
	}
	if r.token == "" {
		r.token = alice
	}
	if r.body == "" {
		r.body = `{"sku":"BOOK","quantity":2}`
		if r.path == "/api/orders" {
			r.body = `{"userId":1,"skuId":9001,"quantity":2}`
		}
	}
	r.key = keyMark + r.key
	return r
}

// answer is an HTTP answer that was read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// essence is what a replay has in common with the first answer.
func (a answer) essence() string {
	return fmt.Sprint(a.status, a.header["Content-Type"], a.header["Location"], a.header["Etag"], a.header["Idempotency-Id"], a.body)
}

func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

func (a answer) code() string {
	var problem struct{ Code string }
	_ = json.Unmarshal([]byte(a.body), &problem)
	return problem.Code
}

var client = &http.Client{
	Timeout:   2 * patience,
	Transport: &http.Transport{MaxIdleConnsPerHost: 256},
}

// send sends r once: net/http does not repeat it by itself, for want of a body to send again (F43).
func send(ctx context.Context, url string, r request) (answer, error) {
	return sendBy(ctx, client, url, r)
}

func sendBy(ctx context.Context, by *http.Client, url string, r request) (answer, error) {
	return sendFilled(ctx, by, url, r.filled())
}

func sendFilled(ctx context.Context, by *http.Client, url string, r request) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	req.GetBody = nil
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", r.key)
	got, err := by.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header, string(body)}, err
}

// post sends r and has an answer come.
func post(t testing.TB, url string, r request) answer {
	t.Helper()
	a, err := send(context.Background(), url, r)
	if err != nil {
		t.Errorf("POST %s: %v", r.path, err)
	}
	return a
}

// later posts r in the background.
func later(t testing.TB, url string, r request) <-chan answer {
	answers := make(chan answer, 1)
	go func() { answers <- post(t, url, r) }()
	return answers
}

// atOnce calls f n times at the same moment and returns what it returned.
func atOnce[T any](n int, f func(i int) T) []T {
	results := make([]T, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			results[i] = f(i)
		})
	}
	close(start)
	all.Wait()
	return results
}

func wantStatus(t testing.TB, a answer, status int) {
	t.Helper()
	if a.status != status {
		t.Errorf("the status is %d, want %d: %s", a.status, status, a.body)
	}
}

// wantComeAgain checks a 503 that says when to come again.
func wantComeAgain(t testing.TB, a answer) {
	t.Helper()
	wantStatus(t, a, http.StatusServiceUnavailable)
	if a.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q, want 1", a.header.Get("Retry-After"))
	}
}

// wantReplay checks that a is the replay of first.
func wantReplay(t testing.TB, a, first answer) {
	t.Helper()
	wantStatus(t, a, http.StatusCreated)
	if a.essence() != first.essence() {
		t.Errorf("the replay is\n%s\nthe first answer was\n%s", a.essence(), first.essence())
	}
	if !a.replayed() {
		t.Error("the answer is not marked as a replay")
	}
}

// wantCreated checks a first answer.
func wantCreated(t testing.TB, a answer) {
	t.Helper()
	wantStatus(t, a, http.StatusCreated)
	if a.replayed() {
		t.Error("the first answer is marked as a replay")
	}
}

// wantOneAnswer checks that all answers are one.
func wantOneAnswer(t testing.TB, answers []answer) {
	t.Helper()
	for _, a := range answers {
		wantStatus(t, a, http.StatusCreated)
		if a.essence() != answers[0].essence() {
			t.Errorf("two answers of one key:\n%s\n%s", a.essence(), answers[0].essence())
		}
	}
}
