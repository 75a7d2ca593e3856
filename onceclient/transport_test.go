package onceclient_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/onceclient"
)

// quick are options whose waits are short.
var quick = onceclient.Options{FirstDelay: time.Millisecond, DelayMax: 2 * time.Millisecond}

func newClient(t *testing.T, options onceclient.Options) *http.Client {
	t.Helper()
	if options.Base == nil {
		base := &http.Transport{}
		t.Cleanup(base.CloseIdleConnections)
		options.Base = base
	}
	transport, err := onceclient.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: transport}
}

// seen is what a server was sent.
type seen struct{ key, body string }

// service answers each attempt with the next of the answers, and then with the last one.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	requests []seen
}

func newService(t *testing.T, answers ...func(http.ResponseWriter)) *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		n := len(s.requests)
		s.requests = append(s.requests, seen{r.Header.Get("Idempotency-Key"), string(body)})
		s.mu.Unlock()
		answers[min(n, len(answers)-1)](w)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *service) attempts() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.requests...)
}

func status(code int, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, "answered %d", code)
	}
}

func problem(code int, name string, header ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"code":%q}`, name)
	}
}

// hangUp ends the connection without an answer.
func hangUp(http.ResponseWriter) { panic(http.ErrAbortHandler) }

func post(ctx context.Context, client *http.Client, url, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func TestF41_KeyIsTheIntents(t *testing.T) {
	t.Parallel()
	s := newService(t, hangUp, status(503), status(429), hangUp, status(201))
	client := newClient(t, quick)
	if _, _, err := post(t.Context(), client, s.URL, "x"); !errors.Is(err, onceclient.ErrNoKey) || len(s.attempts()) != 0 {
		t.Errorf("without a key: %v, %d attempts", err, len(s.attempts()))
	}
	key := onceclient.NewKey()
	code, text, err := post(onceclient.WithKey(t.Context(), key), client, s.URL, "two books")
	if err != nil || code != 201 || text != "answered 201" {
		t.Errorf("%d %q %v", code, text, err)
	}
	if n := len(s.attempts()); n != 5 {
		t.Errorf("%d attempts, want 5", n)
	}
	for i, a := range s.attempts() {
		if a.key != `"`+key+`"` || a.body != "two books" {
			t.Errorf("attempt %d: %+v", i, a)
		}
	}
	if key == onceclient.NewKey() {
		t.Error("two intents have one key")
	}
}

// F42: the retry meets its own first attempt. That is no failure.
func TestF42_FirstAttemptStillRuns(t *testing.T) {
	t.Parallel()
	past := time.Now().Add(-time.Hour)
	for name, header := range map[string][]string{
		"at once":   nil,
		"seconds":   {"Retry-After", "0"},
		"date":      {"Retry-After", past.Add(time.Second).UTC().Format(http.TimeFormat), "Date", past.UTC().Format(http.TimeFormat)},
		"past date": {"Retry-After", past.UTC().Format(http.TimeFormat)},
	} {
		for _, code := range []string{"in_flight", "40901"} {
			t.Run(name+" "+code, func(t *testing.T) {
				t.Parallel()
				s := newService(t, problem(409, code, header...), status(201))
				began := time.Now()
				got, _, err := post(onceclient.WithKey(t.Context(), "k"), newClient(t, quick), s.URL, "")
				if err != nil || got != 201 || len(s.attempts()) != 2 {
					t.Errorf("%d, %v, %d attempts", got, err, len(s.attempts()))
				}
				if took := time.Since(began); name == "date" && took < 900*time.Millisecond {
					t.Errorf("it waited %v, want the second that the answer's own clock says", took)
				}
			})
		}
	}
}

func TestFinalAnswersAreNotRepeated(t *testing.T) {
	t.Parallel()
	for _, answer := range []func(http.ResponseWriter){
		status(200), status(400), status(404), problem(409, "key_reused"), status(409), status(422), status(410), status(500),
	} {
		s := newService(t, answer)
		code, text, err := post(onceclient.WithKey(t.Context(), "k"), newClient(t, quick), s.URL, "x")
		if err != nil || text == "" || len(s.attempts()) != 1 {
			t.Errorf("%d %q %v: %d attempts", code, text, err, len(s.attempts()))
		}
	}
}

// The last answer is the caller's, with its body.
func TestAttemptsAreUsedUp(t *testing.T) {
	t.Parallel()
	for want, options := range map[int]onceclient.Options{
		3: {AttemptsMax: 3, FirstDelay: time.Millisecond},
		1: {Within: time.Minute, FirstDelay: time.Millisecond}, // Retry-After leads beyond it
	} {
		s := newService(t, status(503, "Retry-After", map[int]string{1: "3600", 3: "0"}[want]))
		code, text, err := post(onceclient.WithKey(t.Context(), "k"), newClient(t, options), s.URL, "x")
		if err != nil || code != 503 || text != "answered 503" || len(s.attempts()) != want {
			t.Errorf("%d %q %v: %d attempts, want %d", code, text, err, len(s.attempts()), want)
		}
	}
}

// The budget: a service that is down is not buried.
func TestRetriesAreBudgeted(t *testing.T) {
	t.Parallel()
	s := newService(t, status(503))
	client := newClient(t, quick)
	const requests = 100
	for range requests {
		if code, _, err := post(onceclient.WithKey(t.Context(), "k"), client, s.URL, ""); code != 503 || err != nil {
			t.Fatal(code, err)
		}
	}
	if n := len(s.attempts()); n < requests+20 || n > requests+10+requests/5 {
		t.Errorf("%d attempts for %d requests: want the ten and a fifth more", n, requests)
	}
}

func TestOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	for name, options := range map[string]onceclient.Options{
		"cancelled":       {},
		"no answer":       {AttemptTimeout: 100 * time.Millisecond, AttemptsMax: 2, FirstDelay: time.Millisecond},
		"all time passed": {Within: 100 * time.Millisecond},
	} {
		arrived := make(chan struct{}, 10)
		s := newService(t, func(w http.ResponseWriter) {
			arrived <- struct{}{}
			<-release
		})
		ctx, cancel := context.WithCancel(onceclient.WithKey(t.Context(), "k"))
		go func() {
			<-arrived
			if name == "cancelled" {
				cancel()
			}
		}()
		_, _, err := post(ctx, newClient(t, options), s.URL, "x")
		if e := (*onceclient.Error)(nil); !errors.Is(err, onceclient.ErrUnknown) || !errors.As(err, &e) || !e.Sent || e.Attempts < 1 {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// Where nobody listened, nothing can have been carried out.
func TestNothingWasSent(t *testing.T) {
	t.Parallel()
	s := newService(t, status(201))
	s.Close()
	_, _, err := post(onceclient.WithKey(t.Context(), "k"), newClient(t, quick), s.URL, "x")
	if e := (*onceclient.Error)(nil); errors.Is(err, onceclient.ErrUnknown) || !errors.As(err, &e) || e.Sent || e.Attempts != 6 {
		t.Errorf("%v", err)
	}
}

// A counting base tells how often the transport was asked to send.
type counting struct {
	http.RoundTripper
	sends atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.sends.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// F43: a server that answers the first request of a connection and breaks at the second. net/http resends such a request by
// itself; through this package nothing is sent that was not counted.
func TestF43_NothingIsResentInvisibly(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "two books"} {
		for _, own := range []bool{false, true} {
			t.Run(fmt.Sprintf("body %q, onceclient %t", body, own), func(t *testing.T) {
				t.Parallel()
				url, arrived := breaking(t)
				base := &counting{RoundTripper: &http.Transport{MaxConnsPerHost: 1}}
				defer base.RoundTripper.(*http.Transport).CloseIdleConnections()
				client := &http.Client{Transport: base}
				if own {
					options := quick
					options.Base = base
					client = newClient(t, options)
				}
				ctx := onceclient.WithKey(t.Context(), "k")
				for range 2 {
					r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					if !own {
						r.Header.Set("Idempotency-Key", "k")
					}
					response, err := client.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
				if visible := arrived.Load() == base.sends.Load(); visible != own {
					t.Errorf("%d requests arrived, %d were sent", arrived.Load(), base.sends.Load())
				}
			})
		}
	}
}

// breaking is the URL of that server, and counts the requests that arrive.
func breaking(t *testing.T) (string, *atomic.Int64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	arrived := new(atomic.Int64)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				in := bufio.NewReader(conn)
				for n := range 2 {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if arrived.Add(1); n == 1 {
						return
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String(), arrived
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	target := newService(t, status(201))
	var home *service
	home = newService(t, func(w http.ResponseWriter) {
		w.Header().Set("Location", home.URL+"/there")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}, status(201), func(w http.ResponseWriter) {
		w.Header().Set("Location", target.URL)
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	ctx, client := onceclient.WithKey(t.Context(), "k"), newClient(t, quick)
	code, _, err := post(ctx, client, home.URL, "two books")
	if sent := home.attempts(); err != nil || code != 201 || len(sent) != 2 || sent[1] != sent[0] || sent[1].body != "two books" {
		t.Errorf("%d, %v: %+v", code, err, sent)
	}
	if _, _, err := post(ctx, client, home.URL, "x"); !errors.Is(err, onceclient.ErrOtherHost) || len(target.attempts()) != 0 {
		t.Errorf("to another host: %v", err)
	}
}

func TestWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	s := newService(t, status(201))
	options := quick
	options.BodyBytesMax = 3
	client := newClient(t, options)
	for _, key := range []string{" ", "a b", `a"b`, "ä", strings.Repeat("k", 256)} {
		if _, _, err := post(onceclient.WithKey(t.Context(), key), client, s.URL, "x"); !errors.Is(err, onceclient.ErrKey) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if _, _, err := post(onceclient.WithKey(t.Context(), "k"), client, s.URL, "long"); err == nil || !strings.Contains(err.Error(), "BodyBytesMax") {
		t.Errorf("a long body: %v", err)
	}
	if len(s.attempts()) != 0 {
		t.Errorf("sent were %+v", s.attempts())
	}
	response, err := client.Get(s.URL) // what changes nothing needs no key
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if sent := s.attempts(); len(sent) != 1 || sent[0].key != "" {
		t.Errorf("a GET was sent as %+v", sent)
	}
	for _, o := range []onceclient.Options{
		{Within: -1}, {AttemptTimeout: -1}, {AttemptsMax: -1}, {FirstDelay: -1}, {DelayMax: -1}, {BodyBytesMax: -1}, {RetryShare: -1},
	} {
		if _, err := onceclient.New(o); err == nil {
			t.Errorf("a transport with %+v was made", o)
		}
	}
}
