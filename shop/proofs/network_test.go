package proofs

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/dbtest"
)

// apart starts a server process whose way to PostgreSQL leads through a proxy, with its statements as text that the proxy can find.
func apart(t *testing.T, db *database, mode string) (*server, *dbtest.Proxy) {
	t.Helper()
	proxy := dbtest.NewProxy(t, dbtest.Shared(t).Addr())
	away := *db
	away.name = proxy.URL(db.name)
	return startServer(t, away.named("apart", "default_query_exec_mode", mode)), proxy
}

// TestB2_CommitCutOff: the connection breaks around the COMMIT. Whatever the client is told first, there is one order at most; after
// a failure the retry finds the order or places it, and after a success it is replayed.
func TestB2_CommitCutOff(t *testing.T) {
	t.Parallel()
	const soon = 200 * time.Millisecond
	for name, c := range map[string]struct {
		fault dbtest.Fault
		want  int // the first answer's status: committed or not is known in the end; 0 where it may end either way
	}{
		"before the commit":                      {dbtest.Fault{Moment: dbtest.Before}, http.StatusServiceUnavailable},
		"within the commit":                      {dbtest.Fault{Moment: dbtest.Within}, http.StatusServiceUnavailable},
		"after the commit was sent":              {dbtest.Fault{Moment: dbtest.After}, 0}, // the driver asks the server to cancel it
		"after the commit, its answer lost":      {dbtest.Fault{Moment: dbtest.Answered}, http.StatusCreated},
		"the commit arrives late":                {dbtest.Fault{Moment: dbtest.Late, Delay: soon}, http.StatusCreated},
		"the server does not hear of the cut":    {dbtest.Fault{Moment: dbtest.Blackhole, Delay: soon}, http.StatusServiceUnavailable},
		"nobody hears of it, then all are cut":   {dbtest.Fault{Moment: dbtest.Hang, Delay: soon}, http.StatusServiceUnavailable},
		"before the record is sent":              {dbtest.Fault{On: "INTO onceward_record", Moment: dbtest.Before}, http.StatusServiceUnavailable},
		"within the record":                      {dbtest.Fault{On: "INTO onceward_record", Moment: dbtest.Within}, http.StatusServiceUnavailable},
		"in the work, before the order is there": {dbtest.Fault{On: "INTO orders", Moment: dbtest.Before}, http.StatusServiceUnavailable},
		"in the work, its answer lost":           {dbtest.Fault{On: "INTO orders", Moment: dbtest.Answered}, http.StatusServiceUnavailable},
		"in the claim":                           {dbtest.Fault{On: "pg_try_advisory", Moment: dbtest.Answered}, http.StatusServiceUnavailable},
	} {
		for _, mode := range []string{"exec", "simple_protocol"} {
			t.Run(name+" "+mode, func(t *testing.T) {
				t.Parallel()
				fault := c.fault // the modes share c
				if fault.On == "" {
					fault.On, fault.Skip = "COMMIT", 1 // the claim's READ COMMITTED
				}
				db := onPostgres(t)
				s, proxy := apart(t, db, mode)
				wantCreated(t, post(t, s.url(), order("warm")))
				cut := proxy.Cut(fault)
				first := post(t, s.url(), order("1"))
				await(t, "the cut", cut.Over())
				if c.want != 0 {
					wantStatus(t, first, c.want)
				}
				if first.status == http.StatusCreated {
					wantReplay(t, post(t, s.url(), order("1")), first)
				} else {
					wantComeAgain(t, first)
					db.wantRows(1, 1)
					wantCreated(t, post(t, s.url(), order("1")))
				}
				db.wantRows(2, 2)
				db.wantQuiet()
			})
		}
	}
}

// TestB2_UnresolvedCommitIsSaidAndLearnt: after the cut the database cannot be reached to ask. The client is told that the outcome
// is not known, and the retry learns the truth: the order that was committed, or that there is none.
func TestB2_UnresolvedCommitIsSaidAndLearnt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		moment    dbtest.Moment
		committed int
	}{"committed": {dbtest.Answered, 1}, "not committed": {dbtest.Before, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := onPostgres(t)
			proxy := dbtest.NewProxy(t, dbtest.Shared(t).Addr())
			d := db.door(doorOptions{through: proxy, resolveTimeout: 300 * time.Millisecond}, placing)
			proxy.Cut(dbtest.Fault{On: "INTO onceward_record", Moment: c.moment})   // the COMMIT is in the same packet
			proxy.Cut(dbtest.Fault{On: "pg_try_advisory", Skip: 1, Times: 1 << 20}) // from the second claim on
			first := d.post(order("1"))
			wantComeAgain(t, first)
			if first.code() != "unresolved" {
				t.Errorf("the code is %q, want unresolved", first.code())
			}
			if n := db.effects(); n != c.committed {
				t.Errorf("%d effects are committed, want %d", n, c.committed)
			}
			proxy.Heal()
			retried := d.post(order("1"))
			wantStatus(t, retried, http.StatusCreated)
			if retried.replayed() != (c.committed == 1) {
				t.Errorf("the retry is a replay: %t", retried.replayed())
			}
			db.wantEffects(1)
		})
	}
}

// TestB2_ConnectionsBreakUnderLoad: all connections between server and database break again and again, at any moment, and some of
// them around a COMMIT.
func TestB2_ConnectionsBreakUnderLoad(t *testing.T) {
	t.Parallel()
	db := onPostgres(t)
	s, proxy := apart(t, db, "exec")
	l := startLoad(t, s.url)
	moments := []dbtest.Moment{dbtest.Before, dbtest.Within, dbtest.After, dbtest.Answered}
	for range 20 {
		l.amid()
		proxy.Cut(dbtest.Fault{On: "INTO onceward_record", Moment: moments[rand.IntN(len(moments))], Times: 2})
		if rand.IntN(3) == 0 {
			proxy.Sever()
		}
	}
	l.stop()
	proxy.Heal()
	s.restart()
	l.check(db, http.StatusServiceUnavailable)
	db.wantQuiet()
}
