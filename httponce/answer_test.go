package httponce_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// What is not final is forgotten: the corrected retry runs.
func TestF08RefusalsAreNotRecorded(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 408, 409, 422, 425, 429, 500, 502, 503} {
		for name, refusal := range map[string]func(w http.ResponseWriter) error{
			"written":  func(w http.ResponseWriter) error { w.WriteHeader(status); return nil },
			"refused":  func(http.ResponseWriter) error { return httponce.Refuse(status, "wrong code") },
			"answered": func(http.ResponseWriter) error { return &httponce.Answer{Status: status} },
			"wrapped":  func(http.ResponseWriter) error { return fmt.Errorf("pay: %w", httponce.Refuse(status, nil)) },
		} {
			s := newService(t, setup{})
			healed := false
			s.handle(create, func(w http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
				tx.insert("row")
				if !healed {
					return refusal(w)
				}
				w.WriteHeader(http.StatusCreated)
				return nil
			})
			first := s.post("k", book)
			if first.status != status || first.replayed() || first.header.Get(httponce.HeaderID) == "" {
				t.Errorf("%s: %d with %v, want %d", name, first.status, first.header, status)
			}
			s.wantRows(0)
			healed = true
			if again := s.post("k", book); again.status != 201 || again.replayed() {
				t.Errorf("%s: %d was recorded: the retry got %d", name, status, again.status)
			}
			s.wantRows(1)
		}
	}
}

func TestConcludedAnswersAreFinal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
	}{
		{"concluded", httponce.Conclude(402, map[string]string{"reason": "declined"})},
		{"wrapped", fmt.Errorf("pay: %w", httponce.Conclude(402, map[string]string{"reason": "declined"}))},
		{"mapped", errDeclined},
	} {
		s := newService(t, setup{options: httponce.Options{Failure: func(err error) *httponce.Answer {
			if errors.Is(err, errDeclined) {
				return httponce.Conclude(402, map[string]string{"reason": "declined"})
			}
			return nil
		}}})
		s.handle(create, func(w http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
			tx.insert("declined payment")
			io.WriteString(w, "is replaced")
			return c.err
		})
		first := s.post("k", book).want(t, 402, "")
		again := s.post("k", book).want(t, 402, "")
		if !again.replayed() || again.body != first.body || first.body != "{\"reason\":\"declined\"}\n" {
			t.Errorf("%s: first %q, again %q", c.name, first.body, again.body)
		}
		s.wantRows(1)
	}
}

var errDeclined = errors.New("the bank says no: account 4711")

func TestRefuseRollsBackWhateverTheStatus(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.handle(create, func(_ http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
		tx.insert("a dry run")
		return httponce.Refuse(200, "as if")
	})
	s.post("k", book).want(t, 200, "")
	if s.post("k", book).replayed() {
		t.Error("a dry run was recorded")
	}
	s.wantRows(0)
}

func TestFailureMapsTheErrorsOfTheDomain(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{options: httponce.Options{Failure: func(err error) *httponce.Answer {
		if errors.Is(err, errDeclined) {
			return httponce.Refuse(409, "The payment was declined.")
		}
		return nil
	}}})
	fail := errDeclined
	s.handle(create, func(_ http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
		tx.insert("row")
		return fmt.Errorf("pay: %w", fail)
	})
	answer := s.post("k", book)
	if answer.status != 409 || answer.detail() != "The payment was declined." || answer.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("mapped to %d %s", answer.status, answer.body)
	}
	fail = errors.New(`ERROR: relation "orders" does not exist (SQLSTATE 42P01)`)
	answer = s.post("k", book).want(t, 500, "internal")
	if strings.Contains(answer.body, "SQLSTATE") {
		t.Errorf("the error's text reached the caller: %s", answer.body)
	}
	if err := <-s.reports; !errors.Is(err, fail) {
		t.Errorf("reported %v", err)
	}
	s.wantRows(0)
}

// The replay is the first answer: status, bytes and what describes them.
func TestF09ReplayEqualsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]func(w http.ResponseWriter) error{
		"created": func(http.ResponseWriter) error { return httponce.Created("/orders/7", map[string]int{"id": 7}) },
		"accepted": func(w http.ResponseWriter) error {
			w.Header().Set("Location", "/jobs/1")
			w.Header().Set("ETag", `"v1"`)
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Add("Link", `</a>; rel="a"`)
			w.Header().Add("Link", `</b>; rel="b"`)
			w.Header().Set("Last-Modified", "Tue, 01 Dec 2026 00:00:00 GMT")
			w.WriteHeader(202)
			return nil
		},
		"no content":     func(w http.ResponseWriter) error { w.WriteHeader(204); return nil },
		"nothing at all": func(http.ResponseWriter) error { return nil },
		"see other":      func(w http.ResponseWriter) error { w.Header().Set("Location", "/x"); w.WriteHeader(303); return nil },
		"not modified":   func(w http.ResponseWriter) error { w.Header().Set("ETag", `"v1"`); w.WriteHeader(304); return nil },
		"guessed type":   func(w http.ResponseWriter) error { io.WriteString(w, "<html><p>ordered"); return nil },
		"no type":        func(w http.ResponseWriter) error { w.Header()["Content-Type"] = nil; w.Write([]byte{0}); return nil },
		"coded": func(w http.ResponseWriter) error {
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Language", "de")
			w.Write([]byte{0x1f, 0x8b, 8, 0})
			return nil
		},
		"several writes": func(w http.ResponseWriter) error { fmt.Fprint(w, "one "); fmt.Fprint(w, "two"); return nil },
		"wrong length": func(w http.ResponseWriter) error {
			w.Header().Set("Content-Length", "99")
			fmt.Fprint(w, "two")
			return nil
		},
		"header too late": func(w http.ResponseWriter) error { w.WriteHeader(201); w.Header().Set("ETag", `"late"`); return nil },
		"second status":   func(w http.ResponseWriter) error { w.WriteHeader(201); w.WriteHeader(500); return nil },
		"hint":            func(w http.ResponseWriter) error { w.WriteHeader(103); w.WriteHeader(201); return nil },
		"custom problem": func(http.ResponseWriter) error {
			return httponce.Conclude(409, &httponce.Problem{Code: "sold_out", Detail: "Nothing is left."})
		},
		"bytes": func(http.ResponseWriter) error {
			answer := httponce.OK([]byte("sku;1\n"))
			answer.Header = http.Header{"content-type": {"text/csv"}, "X-Route": {"r"}}
			return answer
		},
		"large": func(w http.ResponseWriter) error { io.WriteString(w, strings.Repeat("x", 100_000)); return nil },
	} {
		for _, memory := range []onceward.Options{{}, noMemory} {
			s := newService(t, setup{engine: memory, options: httponce.Options{Headers: []string{"x-route"}}})
			s.handle(create, func(w http.ResponseWriter, _ *http.Request, _ *ledgerTx) error { return h(w) })
			first, again := s.post("k", book), s.post("k", book)
			if first.replayed() || !again.replayed() {
				t.Errorf("%s: replayed %v, then %v", name, first.replayed(), again.replayed())
			}
			again.header.Del(httponce.HeaderReplayed)
			if first.status != again.status || first.body != again.body {
				t.Errorf("%s: first %d %.40q, again %d %.40q", name, first.status, first.body, again.status, again.body)
			}
			first.header.Del("Date")
			again.header.Del("Date")
			if fmt.Sprint(first.header) != fmt.Sprint(again.header) {
				t.Errorf("%s:\nfirst %v\nagain %v", name, first.header, again.header)
			}
			if first.header.Get("Etag") == `"late"` || first.header.Get("Content-Length") == "99" || first.status == 500 {
				t.Errorf("%s: unlike net/http: %d %v", name, first.status, first.header)
			}
		}
	}
}

// The replay is of the moment of the first answer, whatever became of the order.
func TestF09HandlerIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{engine: noMemory})
	state := "accepted"
	s.mux.Handle("POST /orders", httponce.JSON(s.door, create, func(context.Context, *ledgerTx, order) (*httponce.Answer, error) {
		return httponce.Created("/orders/1", state), nil
	}))
	s.post("k", book)
	state = "shipped"
	if again := s.post("k", book); again.body != "\"accepted\"\n" {
		t.Errorf("replayed %s", again.body)
	}
}

// What an outer middleware puts on a response is its own, on the replay as on the first answer.
func TestF10HeadersOfOthersAreNeitherStoredNorDoubled(t *testing.T) {
	t.Parallel()
	origin, cache := "https://a.example", "private"
	s := newService(t, setup{engine: noMemory, outer: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Add("Vary", "Origin")
			h.Add("Set-Cookie", "session="+origin)
			h.Add("Link", `</outer>; rel="outer"`)
			h.Set("Cache-Control", cache)
			h.Set("X-Frame", "deny")
			next.ServeHTTP(w, r)
		})
	}})
	s.handle(create, func(w http.ResponseWriter, _ *http.Request, _ *ledgerTx) error {
		h := w.Header()
		if h.Get("Vary") != "Origin" {
			t.Error("the handler does not see what was set outside")
		}
		h.Add("Vary", "Accept")
		h.Add("Link", `</inner>; rel="inner"`)
		h.Add("Set-Cookie", "cart=1")
		h.Add("Access-Control-Expose-Headers", "X")
		h.Set("Connection", "close")
		h.Del("X-Frame")
		io.WriteString(w, "ordered")
		return nil
	})
	check := func(name string, answer reply, want map[string][]string) {
		t.Helper()
		for field, values := range want {
			if got := answer.header.Values(field); !slices.Equal(got, values) {
				t.Errorf("%s: %s is %q, want %q", name, field, got, values)
			}
		}
	}
	check("first", s.post("k", book), map[string][]string{
		"Access-Control-Allow-Origin": {"https://a.example"}, "Access-Control-Expose-Headers": {"X"}, "X-Frame": nil,
		"Vary": {"Origin", "Accept"}, "Set-Cookie": {"session=https://a.example", "cart=1"}, "Cache-Control": {"private"},
		"Link": {`</outer>; rel="outer"`, `</inner>; rel="inner"`},
	})
	origin, cache = "https://b.example", "no-store"
	check("replay", s.post("k", book), map[string][]string{
		"Access-Control-Allow-Origin": {"https://b.example"}, "Access-Control-Expose-Headers": nil, "X-Frame": {"deny"},
		"Vary": {"Origin"}, "Set-Cookie": {"session=https://b.example"}, "Cache-Control": {"no-store"},
		"Link": {`</outer>; rel="outer"`, `</inner>; rel="inner"`}, "Connection": nil,
	})
}

// An Answer's own fields join those that were set outside where a field may have both.
func TestF10AnswersHeader(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{outer: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Set-Cookie", "session=1")
			next.ServeHTTP(w, r)
		})
	}})
	s.handle(create, func(http.ResponseWriter, *http.Request, *ledgerTx) error {
		answer := httponce.OK(nil)
		answer.Header = http.Header{"Set-Cookie": {"cart=1"}, "Etag": {`"v1"`}}
		return answer
	})
	first, again := s.post("k", book), s.post("k", book)
	if got := first.header.Values("Set-Cookie"); !slices.Equal(got, []string{"session=1", "cart=1"}) {
		t.Errorf("first: %q", got)
	}
	if got := again.header.Values("Set-Cookie"); !slices.Equal(got, []string{"session=1"}) {
		t.Errorf("replay: %q", got)
	}
	if again.header.Get("Etag") != `"v1"` {
		t.Errorf("replay: %v", again.header)
	}
}

func TestF11AnswerTooLargeToBeStoredLeavesATombstone(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{options: httponce.Options{StoredBytesMax: 1000}})
	s.handle(create, func(w http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
		tx.insert("export")
		w.Header().Set("Location", "/exports/1")
		w.WriteHeader(201)
		_, err := io.WriteString(w, strings.Repeat("x", 1001))
		return err
	})
	if first := s.post("k", book).want(t, 201, ""); len(first.body) != 1001 {
		t.Errorf("the first caller got %d bytes", len(first.body))
	}
	for range 2 {
		again := s.post("k", book).want(t, 410, "answer_not_stored")
		if again.header.Get("Location") != "/exports/1" || !again.replayed() || strings.Contains(again.body, "xx") {
			t.Errorf("%v %s", again.header, again.body)
		}
	}
	s.post("k", `{}`).want(t, 422, "key_reused")
	s.wantRows(1)
}

func TestF11TombstoneHasItsBoundToo(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{options: httponce.Options{StoredBytesMax: 100}})
	s.handle(create, func(http.ResponseWriter, *http.Request, *ledgerTx) error {
		return httponce.Created("/"+strings.Repeat("x", 100), nil)
	})
	s.post("k", book).want(t, 201, "")
	if again := s.post("k", book).want(t, 410, "answer_not_stored"); again.header.Get("Location") != "" {
		t.Error("a Location beyond the bound was stored")
	}
}

func TestSecretAnswerIsShownOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.handle(create, func(http.ResponseWriter, *http.Request, *ledgerTx) error {
		answer := httponce.Created("/tokens/1", map[string]string{"token": "s3cret"})
		answer.Secret = true
		return answer
	})
	if first := s.post("k", book).want(t, 201, ""); !strings.Contains(first.body, "s3cret") {
		t.Error("the first caller did not get the secret")
	}
	s.post("k", book).want(t, 410, "answer_not_stored")
	record, err := s.engine.Find(t.Context(), create.For(onceward.Scope{Tenant: "acme", Principal: "alice"}, "k", nil))
	if err != nil || record == nil || strings.Contains(string(record.Outcome.Data), "s3cret") {
		t.Errorf("the record: %v, %v", record, err)
	}
}

func TestF11AnswerBeyondTheHoldLimitRollsBack(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]func(w http.ResponseWriter) error{
		"error ignored": func(w http.ResponseWriter) error {
			if _, err := w.Write(make([]byte, 60)); err != nil {
				t.Error(err)
			}
			if n, err := io.WriteString(w, strings.Repeat("x", 41)); err == nil || n != 0 {
				t.Errorf("wrote %d beyond the limit: %v", n, err)
			}
			if n, err := w.Write([]byte("x")); err == nil || n != 0 {
				t.Errorf("wrote %d after the limit: %v", n, err)
			}
			return nil
		},
		"error returned": func(w http.ResponseWriter) error { _, err := w.Write(make([]byte, 101)); return err },
		"answer":         func(http.ResponseWriter) error { return httponce.OK(make([]byte, 101)) },
	} {
		s := newService(t, setup{options: httponce.Options{AnswerBytesMax: 100}})
		s.handle(create, func(w http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
			tx.insert("row")
			return h(w)
		})
		if answer := s.post("k", book); answer.status != 500 || answer.code() != "answer_too_large" {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
		s.wantRows(0)
	}
}

func TestAnswerThatCannotBeSentRollsBack(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{
		"no JSON":   httponce.OK(func() {}),
		"status 99": &httponce.Answer{Status: 99, Final: true},
	} {
		s := newService(t, setup{})
		s.handle(create, func(_ http.ResponseWriter, _ *http.Request, tx *ledgerTx) error {
			tx.insert("row")
			return answer
		})
		if got := s.post("k", book); got.status != 500 || got.code() != "internal" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
		if err := <-s.reports; err == nil {
			t.Errorf("%s: not reported", name)
		}
		s.wantRows(0)
	}
}

func TestAnswerIsHeldUntilTheCommit(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.handle(create, func(w http.ResponseWriter, _ *http.Request, _ *ledgerTx) error {
		io.WriteString(w, "done")
		control := http.NewResponseController(w)
		if err := control.Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Flush: %v", err)
		}
		if _, _, err := control.Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Errorf("Hijack: %v", err)
		}
		if _, ok := w.(http.Flusher); ok {
			t.Error("the writer can be flushed")
		}
		return nil
	})
	s.store.save = func(attempt onceward.Attempt[*ledgerTx], _ onceward.Outcome) error {
		_ = attempt.Rollback(context.Background())
		return errors.New("disk full")
	}
	answer := s.post("k", book).want(t, 503, "not_committed")
	if answer.header.Get("Retry-After") != "1" || strings.Contains(answer.body, "disk") {
		t.Errorf("%v %s", answer.header, answer.body)
	}
}

func TestBodyWhereNoneIsAllowed(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.handle(create, func(w http.ResponseWriter, _ *http.Request, _ *ledgerTx) error {
		w.WriteHeader(204)
		if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
			t.Errorf("a body under 204: %v", err)
		}
		return nil
	})
	s.post("k", book).want(t, 204, "")
	if again := s.post("k", book).want(t, 204, ""); again.header.Get("Content-Length") != "" || again.body != "" {
		t.Errorf("replayed with %v", again.header)
	}
}

func TestSwitchingProtocolsIsAnError(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.handle(create, func(w http.ResponseWriter, _ *http.Request, _ *ledgerTx) error {
		w.WriteHeader(101)
		return nil
	})
	s.post("k", book).want(t, 500, "internal")
}

func TestNilAnswerIsNoContent(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.mux.Handle("POST /orders", httponce.JSON(s.door, create, func(_ context.Context, tx *ledgerTx, _ order) (*httponce.Answer, error) {
		tx.insert("row")
		return nil, nil
	}))
	s.post("k", book).want(t, 204, "")
	s.post("k", book).want(t, 204, "")
	s.wantRows(1)
}

func TestAnswerServesReadsBesideTheDoor(t *testing.T) {
	t.Parallel()
	s := newService(t, setup{})
	s.mux.Handle("GET /orders/{id}", httponce.Refuse(404, "No such order."))
	r := s.request("", "")
	r.Method, r.URL.Path = "GET", "/orders/1"
	if answer := s.do(r); answer.status != 404 || answer.detail() != "No such order." {
		t.Errorf("%d %s", answer.status, answer.body)
	}
}
