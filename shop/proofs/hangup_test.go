package proofs

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

// hangUp has one client hang up when the flow comes to a point, once: the flow goes on when the server knows that the client is gone.
type hangUp struct {
	point  string
	leave  context.CancelFunc              // of the client
	serves atomic.Pointer[context.Context] // the server's, of the request
	armed  atomic.Bool
	ended  chan struct{} // a value when the handler has returned
}

func (h *hangUp) at(point string) (here bool) {
	if point != h.point || !h.armed.CompareAndSwap(true, false) {
		return false
	}
	h.leave()
	<-(*h.serves.Load()).Done()
	return true
}

// Start and End make hangUp an observer of the engine's steps.
func (h *hangUp) Start(ctx context.Context, e onceward.Event) context.Context {
	h.at("before " + string(e.Step))
	return ctx
}

func (h *hangUp) End(_ context.Context, e onceward.Event) { h.at("after " + string(e.Step)) }

func (h *hangUp) serve(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if h.armed.Load() {
			h.serves.Store(&ctx)
		}
		next.ServeHTTP(w, r)
		h.ended <- struct{}{}
	})
}

func (h *hangUp) door(db *database) *door {
	return db.door(doorOptions{
		observer:  h,
		authorize: func(*http.Request, onceward.Command) error { h.at("authorize"); return nil },
		outer:     h.serve,
	}, func(w http.ResponseWriter, r *http.Request, s session) error {
		if h.at("in the work") {
			<-r.Context().Done() // the work's own ends a moment later than the request's
		}
		if err := effect(r, s); err != nil {
			return err
		}
		h.at("at the work's end")
		return created(w)
	})
}

// TestF03_ClientHangsUp at every point of the flow: no claim and no connection remain, there is one effect at most, and the retry
// gets the answer. Once the work is done, its end does not depend on the client any more.
func TestF03_ClientHangsUp(t *testing.T) {
	t.Parallel()
	for point, committed := range map[string]int{
		"authorize": 0, "before identify": 0, "after identify": 0, "before claim": 0, "after claim": 0, "before run": 0, "in the work": 0,
		"at the work's end": 1, "after run": 1, "before save": 1, "after save": 1,
	} {
		t.Run(point, func(t *testing.T) {
			onBoth(t, func(t *testing.T, db *database) {
				h := &hangUp{point: point, ended: make(chan struct{}, 2)}
				d := h.door(db)
				ctx, cancel := context.WithCancel(t.Context())
				h.leave = cancel
				h.armed.Store(true)
				if a, err := send(ctx, d.url, order("1")); err == nil {
					t.Errorf("the client has got an answer: %s", a.body)
				}
				await(t, "the end of the handler", h.ended)
				if h.armed.Load() {
					t.Fatal("the flow has not come to the point")
				}
				wantFree(d)
				db.wantQuiet()
				db.wantEffects(committed)
				retried := d.post(order("1"))
				wantStatus(t, retried, http.StatusCreated)
				if retried.replayed() != (committed == 1) {
					t.Errorf("the retry is a replay: %t", retried.replayed())
				}
				wantFree(d)
				db.wantEffects(1)
			})
		})
	}
}

// wantFree checks that no connection is in use. Those of a cancelled statement are closed in the background.
func wantFree(d *door) {
	d.t.Helper()
	if d.pool != nil {
		until(d.t, "all connections are back", func() bool { return d.pool.Stat().AcquiredConns() == 0 })
	}
}

// TestF03_ClientHangsUpWhileItWaits: a contender in another process hangs up while it waits on the database for the first attempt.
// It takes nothing from the first, and leaves nothing.
func TestF03_ClientHangsUpWhileItWaits(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	entered, release := make(chan struct{}, 1), make(chan struct{})
	first := db.door(doorOptions{}, func(w http.ResponseWriter, r *http.Request, s session) error {
		entered <- struct{}{}
		<-release
		return placing(w, r, s)
	})
	h := &hangUp{ended: make(chan struct{}, 4)}
	contender := h.door(db)
	held := later(t, first.url, order("1"))
	await(t, "the first attempt's work", entered)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := send(ctx, contender.url, order("1"))
		gone <- err
	}()
	db.awaitLocks("advisory", 1)
	cancel()
	if err := await(t, "the contender's end", gone); err == nil {
		t.Error("the contender has got an answer")
	}
	await(t, "the end of the contender's handler", h.ended)
	wantFree(contender)
	close(release)
	wantCreated(t, await(t, "the first answer", held))
	db.wantQuiet()
	wantStatus(t, contender.post(order("1")), http.StatusCreated)
	db.wantEffects(1)
}

// TestF03_ClientStopsInItsBody: what was announced never comes. Nothing is claimed, and the key is free.
func TestF03_ClientStopsInItsBody(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		conn := must(net.DialTimeout("tcp", strings.TrimPrefix(s.url(), "http://"), time.Second))(t)
		_, err := conn.Write([]byte("POST /orders HTTP/1.1\r\nHost: shop\r\nAuthorization: Bearer " + alice + "\r\nContent-Type: application/json\r\n" +
			"Idempotency-Key: " + keyMark + "1\r\nContent-Length: 27\r\n\r\n{\"sku\":\"BOOK\""))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
		wantCreated(t, post(t, s.url(), order("1")))
		db.wantQuiet()
		db.wantRows(1, 1)
	})
}

// TestF03_ManyClientsHangUpAtAnyMoment: deadlines of a random part of the time that an order takes. As many orders as keys that
// were acknowledged in the end, and nothing is left.
func TestF03_ManyClientsHangUpAtAnyMoment(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		const keys = 60
		gone := atOnce(keys, func(i int) int {
			key, n := order(fmt.Sprint(i)), 0
			for try := range 4 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+(i*7+try*11)%40)*time.Millisecond)
				if _, err := send(ctx, s.url(), key); err != nil {
					n++
				}
				cancel()
			}
			return n
		})
		total := 0
		for _, n := range gone {
			total += n
		}
		if total == 0 {
			t.Error("nobody hung up: the proof has shown nothing")
		}
		answers := atOnce(keys, func(i int) answer { return insistently(t, s.url(), order(fmt.Sprint(i))) })
		db.wantQuiet()
		for i, a := range answers {
			wantReplay(t, post(t, s.url(), order(fmt.Sprint(i))), a)
		}
		db.wantRows(keys, keys)
	})
}
