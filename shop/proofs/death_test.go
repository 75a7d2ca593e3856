package proofs

import (
	"net/http"
	"testing"

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/shop"
)

// no answer: the process died before it could answer.
const noAnswer = 0

// TestR2_20_ServerProcessKilledUnderLoad: SIGKILL at random moments while orders are placed without pause. There are as many orders
// as keys, no key is stuck, and what was acknowledged is what a retry is answered.
func TestR2_20_ServerProcessKilledUnderLoad(t *testing.T) {
	onBoth(t, func(t *testing.T, db *database) {
		s := startServer(t, db.name)
		l := startLoad(t, s.url)
		for range 6 {
			l.amid()
			s.restart()
		}
		l.amid()
		l.stop()
		s.restart()
		l.check(db, noAnswer, http.StatusServiceUnavailable)
		db.wantQuiet()
	})
}

// TestR2_20_PostgreSQLKilledUnderLoad: the database server and its sessions die by SIGKILL and recover from their log, under two
// server processes that live on. A client always gets an answer, and never one that means "try something else".
func TestR2_20_PostgreSQLKilledUnderLoad(t *testing.T) {
	t.Parallel()
	postgres := dbtest.StartPostgres(t, dbtest.PostgresOptions{Durable: true})
	look(t, shop.KindPostgres, postgres.Database(t)).wantSettings(map[string]string{
		"SHOW synchronous_commit": "on", "SHOW fsync": "on", "SHOW full_page_writes": "on",
	})
	db := look(t, shop.KindPostgres, postgres.Database(t))
	a, b := startServer(t, db.named("a")), startServer(t, db.named("b"))
	urls := make(chan string, 2)
	urls <- a.url()
	urls <- b.url()
	l := startLoad(t, func() string { // by turns, so that a retry comes to another process
		url := <-urls
		urls <- url
		return url
	})
	for range 4 {
		l.amid()
		postgres.Kill()
		if err := postgres.Start(); err != nil {
			t.Fatal(err)
		}
	}
	l.amid()
	l.stop()
	a.restart()
	b.restart()
	for range 2 {
		<-urls
	}
	urls <- a.url()
	l.check(db, http.StatusServiceUnavailable)
	db.wantQuiet()
}
