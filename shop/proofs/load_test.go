package proofs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"
)

// load is sixteen clients that place orders without pause, each order under a key of its own, and come again with the same key
// until the order is acknowledged, whatever happens to the server.
type load struct {
	t       *testing.T
	url     func() string
	stopped chan struct{}
	clients sync.WaitGroup
	acks    chan struct{} // a value for each acknowledgement

	mu           sync.Mutex
	acknowledged map[request]answer
	statuses     map[int]int // what was answered, 0 for no answer at all
	retried      int         // orders that were not acknowledged at the first try
}

const clients = 16

func startLoad(t *testing.T, url func() string) *load {
	l := &load{
		t: t, url: url, stopped: make(chan struct{}), acks: make(chan struct{}, 1<<20),
		acknowledged: map[request]answer{}, statuses: map[int]int{},
	}
	for c := range clients {
		l.clients.Go(func() { l.client(c) })
	}
	return l
}

func (l *load) client(c int) {
	paths := []string{"/orders", "/api/orders"}
	for n := 0; ; n++ {
		select {
		case <-l.stopped:
			return
		default:
			l.place(order(fmt.Sprintf("%d-%d", c, n)).to(paths[n%len(paths)]))
		}
	}
}

// place has one order acknowledged.
func (l *load) place(r request) {
	deadline := time.Now().Add(patience)
	for try := 0; ; try++ {
		a, err := send(context.Background(), l.url(), r)
		if l.note(r, a, err, try) {
			return
		}
		if time.Now().After(deadline) {
			l.t.Errorf("the key of an order is stuck: %d %s %v", a.status, a.body, err)
			return
		}
		<-time.After(pollEvery)
	}
}

func (l *load) note(r request, a answer, err error, try int) (acknowledged bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		a.status = 0
	}
	l.statuses[a.status]++
	if a.status != http.StatusCreated {
		return false
	}
	if try > 0 {
		l.retried++
	}
	l.acknowledged[r] = a
	l.acks <- struct{}{}
	return true
}

// amid waits until the load has got on by some orders, so that what comes next comes at a moment of nobody's choosing.
func (l *load) amid() {
	l.t.Helper()
	for range 1 + rand.IntN(30) {
		await(l.t, "another acknowledgement", l.acks)
	}
}

// stop lets the clients come to the end of what they have begun.
func (l *load) stop() {
	close(l.stopped)
	l.clients.Wait()
}

// check repeats every order, at a process that remembers nothing, and counts what happened in the database. Of all answers that
// were no acknowledgement, only those that are allowed may have occurred.
func (l *load) check(db *database, allowed ...int) {
	l.t.Helper()
	db.wantRows(len(l.acknowledged), len(l.acknowledged))
	orders := make(chan request, len(l.acknowledged))
	for r := range l.acknowledged {
		orders <- r
	}
	close(orders)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for r := range orders {
				wantReplay(l.t, post(l.t, l.url(), r), l.acknowledged[r])
			}
		})
	}
	all.Wait()
	db.wantRows(len(l.acknowledged), len(l.acknowledged))
	l.t.Logf("%d orders, %d of them after a retry; answers by status: %v", len(l.acknowledged), l.retried, l.statuses)
	for _, status := range append(allowed, http.StatusCreated, http.StatusConflict) { // 409: /api/orders does not wait
		delete(l.statuses, status)
	}
	if len(l.statuses) > 0 {
		l.t.Errorf("there were answers of other statuses: %v", l.statuses)
	}
	if l.retried == 0 {
		l.t.Error("no order was interrupted: the proof has shown nothing")
	}
}
