package conform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/conform"
)

// naive carries out every request, whatever its key: a service without any protection.
func naive(stage *conform.Stage) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in conform.Order
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &in)
		tx := stage.Begin()
		_ = tx.Insert(in.Reference)
		answer := stage.Play(context.WithoutCancel(r.Context()), in)
		_ = tx.Commit(r.Context())
		for name, value := range answer.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(max(answer.Status, 200))
		_, _ = w.Write(answer.Body)
	})
}

func byKey(r *http.Request, _ string) string {
	return strings.Trim(r.Header.Get("Idempotency-Key"), `"`)
}

func byBody(_ *http.Request, body string) string { return body }

// blind answers whoever sends what was seen before, or is the same by what keyOf makes of it, with all that was answered then.
func blind(next http.Handler, keyOf func(r *http.Request, body string) string) http.Handler {
	var mu sync.Mutex
	seen := map[string]*httptest.ResponseRecorder{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		key := keyOf(r, string(body))
		mu.Lock()
		answer := seen[key]
		mu.Unlock()
		if answer == nil {
			answer = httptest.NewRecorder()
			answer.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			next.ServeHTTP(answer, r)
			mu.Lock()
			seen[key] = answer
			mu.Unlock()
		} else {
			w.Header().Set("Idempotent-Replayed", "true")
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// quiet is a server that does not log the panics of its handlers.
func quiet(handler http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Start()
	return server
}

// Each case finds a service that does not keep its promise.
func TestEachCaseCanFail(t *testing.T) {
	t.Parallel()
	failed := map[string]bool{}
	for _, broken := range []func(*conform.Stage) http.Handler{
		naive,
		func(s *conform.Stage) http.Handler { return blind(naive(s), byKey) },
		func(s *conform.Stage) http.Handler { return blind(naive(s), byBody) },
	} {
		stage := &conform.Stage{}
		server := quiet(broken(stage))
		defer server.Close()
		target := stage.Target(server.URL)
		target.Timeout = time.Second
		for name := range faults(t, target) {
			failed[name] = true
		}
	}
	for _, c := range conform.Cases() {
		if !failed[c.Name] {
			t.Errorf("%q passes with every broken service", c.Name)
		}
	}
}

// faults are the cases that the target fails, all played at once.
func faults(t *testing.T, target conform.Target) map[string]error {
	var mu sync.Mutex
	var players sync.WaitGroup
	all := map[string]error{}
	for _, c := range conform.Cases() {
		players.Go(func() {
			if err := c.Run(t.Context(), target); err != nil {
				mu.Lock()
				defer mu.Unlock()
				all[c.Name] = err
			}
		})
	}
	players.Wait()
	return all
}

// A service without protection is told what is wrong with it, in words that a reader can act on.
func TestFaultSaysStepAndDifference(t *testing.T) {
	t.Parallel()
	stage := &conform.Stage{}
	server := quiet(naive(stage))
	defer server.Close()
	target := stage.Target(server.URL)
	for part, want := range map[string]string{
		"F09":  "step 2: answered 201",
		"F19":  "step 4: answered 201",
		"R1.6": "answers are no replay, want 1",
	} {
		i := slices.IndexFunc(conform.Cases(), func(c conform.Case) bool { return strings.HasPrefix(c.Name, part) })
		err := conform.Cases()[i].Run(t.Context(), target)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", part, err, want)
		}
	}
}

func TestCasesAreWellFormed(t *testing.T) {
	t.Parallel()
	features, names := map[conform.Feature]int{}, map[string]bool{}
	for _, c := range conform.Cases() {
		features[c.Feature]++
		if names[c.Name] || c.Name == "" || len(c.Steps) == 0 {
			t.Errorf("%q: a name that is there twice, or no steps", c.Name)
		}
		names[c.Name] = true
	}
	for _, feature := range conform.Features() {
		if features[feature] == 0 {
			t.Errorf("no case shows that %s", feature)
		}
		delete(features, feature)
	}
	for feature := range features {
		t.Errorf("the feature %q is not in the list", feature)
	}
}

// A request is sent once: net/http would send one with an Idempotency-Key again by itself when a connection breaks (F43).
func TestF43RequestIsSentOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	sent := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		sent[r.Header.Get("Idempotency-Key")]++
		calls := len(sent)
		mu.Unlock()
		if calls == 1 { // leave an idle connection behind, so that the next request uses it
			_, _ = io.Copy(w, bytes.NewReader(body))
			return
		}
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	stage := &conform.Stage{}
	target := stage.Target(server.URL)
	target.Client = server.Client()
	for range 3 {
		if err := conform.Cases()[0].Run(t.Context(), target); err == nil {
			t.Error("a broken connection is no fault")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for key, n := range sent {
		if n != 1 {
			t.Errorf("the request of the key %s was sent %d times", key, n)
		}
	}
}
