//go:build cluster

package mysqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/mysqlstore"
	"github.com/onceward/onceward/sqlstore"
	"github.com/onceward/onceward/storetest"
)

// clusterPatience bounds every wait for something that is to happen soon.
const clusterPatience = time.Minute

// cluster is one test's database on the three nodes of a cluster of its own.
type cluster struct {
	t     *testing.T
	nodes []*dbtest.GaleraNode
	dbs   []*sql.DB // by node
	name  string
}

func newCluster(t *testing.T, change func(*mysql.Config)) *cluster {
	t.Helper()
	c := &cluster{t: t, nodes: dbtest.StartGalera(t, 3).Nodes}
	c.name = strings.TrimPrefix(c.nodes[0].Database(t), c.nodes[0].URL(""))
	for i, node := range c.nodes {
		c.dbs = append(c.dbs, connect(t, node.URL(c.name), func(config *mysql.Config) {
			config.Timeout, config.ReadTimeout = 5*time.Second, 20*time.Second
			if change != nil {
				change(config)
			}
		}))
		if i == 0 {
			d := &database{db: c.dbs[0]}
			if err := mysqlstore.Migrate(t.Context(), d.db); err != nil {
				t.Fatal(err)
			}
			d.exec(t, "CREATE TABLE effect (id BIGINT AUTO_INCREMENT PRIMARY KEY, `key` VARBINARY(600) NOT NULL) ENGINE = InnoDB")
		}
		c.synced(i)
	}
	return c
}

// synced waits until a node has what the others have committed.
func (c *cluster) synced(i int) {
	c.t.Helper()
	for deadline := time.Now().Add(clusterPatience); ; {
		var n int
		conn, err := c.dbs[i].Conn(context.Background())
		if err == nil {
			_, err = conn.ExecContext(context.Background(), "SET SESSION wsrep_sync_wait = 7")
		}
		if err == nil {
			err = conn.QueryRowContext(context.Background(), "SELECT count(*) FROM effect").Scan(&n)
		}
		if conn != nil {
			_, _ = conn.ExecContext(context.Background(), "SET SESSION wsrep_sync_wait = 0")
			_ = conn.Close()
		}
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("node %d: %v", i, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// engine is a fresh process at a node.
func (c *cluster) engine(i int) *onceward.Engine[sqlstore.Tx] {
	c.t.Helper()
	engine, err := onceward.New(storeOn(c.dbs[i]), onceward.Options{MemoryBytesMax: -1, ResolveTimeout: 2 * time.Second})
	if err != nil {
		c.t.Fatal(err)
	}
	return engine
}

func (c *cluster) engines() (all []*onceward.Engine[sqlstore.Tx]) {
	for i := range c.nodes {
		all = append(all, c.engine(i))
	}
	return all
}

// wantEffects checks, at each of the nodes, that each of n keys has the two rows of one effect, and one record.
func (c *cluster) wantEffects(nodes []int, n int) {
	c.t.Helper()
	for _, i := range nodes {
		c.synced(i)
		d := &database{db: c.dbs[i]}
		effects, keys, records := d.count(c.t, "SELECT count(*) FROM effect"), d.count(c.t, "SELECT count(DISTINCT `key`) FROM effect"), d.records(c.t)
		if effects != 2*n || keys != n || records != n {
			c.t.Errorf("node %d has %d rows of %d keys and %d records, want %d keys", i, effects, keys, records, n)
		}
	}
}

var order = &onceward.Operation{Name: "cluster.v1", Retention: time.Hour, Wait: 5 * time.Second}

// place asks at one node after the other until there is an answer, as a client does.
func (c *cluster) place(engines []*onceward.Engine[sqlstore.Tx], first int, key string, ran *atomic.Int64) (answer string, _ error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), clusterPatience)
	defer cancel()
	for n := first; ; n++ {
		result, err := engines[n%len(engines)].Do(ctx, order.For(onceward.Scope{Tenant: "acme", Principal: "alice"}, key, nil),
			func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
				ran.Add(1)
				// Between two effects come statements that belong to no transaction: an abort must not be lost on them.
				for range 2 {
					if err := write(ctx, tx, key); err != nil {
						return onceward.Outcome{}, err
					}
					if _, err := tx.ExecContext(ctx, "SET @between = 1"); err != nil {
						return onceward.Outcome{}, err
					}
					if err := tx.QueryRowContext(ctx, "SELECT @between").Scan(new(int)); err != nil {
						return onceward.Outcome{}, err
					}
				}
				return outcomeOf(fmt.Sprintf("%s by %d", key, rand.Int64())), nil
			})
		switch {
		case err == nil:
			return string(result.Outcome.Data), nil
		case errors.Is(err, onceward.ErrKeyReused), errors.Is(err, onceward.ErrTxEnded), errors.Is(err, onceward.ErrExpired), ctx.Err() != nil:
			return "", err
		}
		time.Sleep(time.Duration(1+rand.IntN(20)) * time.Millisecond)
	}
}

func outcomeOf(text string) onceward.Outcome {
	return onceward.Outcome{Kind: "text", Data: []byte(text)}
}

// TestClusterStore: one node is a store like any other.
func TestClusterStore(t *testing.T) {
	node := dbtest.StartGalera(t, 3).Nodes[0]
	open := harnessAt(node.MariaDB, nil, commitAlone)
	storetest.Run[sqlstore.Tx](t, func(t testing.TB) storetest.Harness[sqlstore.Tx] { return open(t) }, lacks...)
}

// TestClusterDuplicatesAtThreeNodes: attempts of one command at different nodes do not see each other's claims. One commits.
func TestClusterDuplicatesAtThreeNodes(t *testing.T) {
	for name, change := range map[string]func(*mysql.Config){"several statements in one text": nil, "one by one": plain} {
		t.Run(name, func(t *testing.T) { duplicatesAtThreeNodes(t, newCluster(t, change)) })
	}
}

func duplicatesAtThreeNodes(t *testing.T, c *cluster) {
	engines := c.engines()
	const keys = 150
	var ran atomic.Int64
	answers := make([][3]string, keys)
	for k := range keys {
		var callers sync.WaitGroup
		begin := make(chan struct{})
		for i := range engines {
			callers.Go(func() {
				<-begin
				answer, err := c.place(engines, i, fmt.Sprint("key ", k), &ran)
				if err != nil {
					t.Errorf("key %d at node %d: %v", k, i, err)
				}
				answers[k][i] = answer
			})
		}
		close(begin)
		callers.Wait()
		if answers[k][0] != answers[k][1] || answers[k][1] != answers[k][2] {
			t.Errorf("key %d is answered %q", k, answers[k])
		}
	}
	c.wantEffects([]int{0, 1, 2}, keys)
	t.Logf("%d works ran for %d keys", ran.Load(), keys)
}

// TestClusterRetryAtAnotherNode: the retry comes to another node as soon as the first is answered, which may not have the record
// yet. Where the connections wait for what others have committed, no work runs in vain.
func TestClusterRetryAtAnotherNode(t *testing.T) {
	c := newCluster(t, nil)
	for name, sync := range map[string]string{"as it is": "0", "with wsrep_sync_wait": "7"} {
		var engines []*onceward.Engine[sqlstore.Tx]
		for _, node := range c.nodes {
			db := connect(t, node.URL(c.name), func(config *mysql.Config) { config.Params = map[string]string{"wsrep_sync_wait": sync} })
			engine, err := onceward.New(storeOn(db), onceward.Options{MemoryBytesMax: -1})
			if err != nil {
				t.Fatal(err)
			}
			engines = append(engines, engine)
		}
		const keys = 200
		var ran atomic.Int64
		for k := range keys {
			key := fmt.Sprint(name, " ", k)
			first, err := c.place(engines, k, key, &ran)
			if err != nil {
				t.Fatal(err)
			}
			for n := range 2 {
				if again, err := c.place(engines, k+1+n, key, &ran); err != nil || again != first {
					t.Errorf("%s: %q %v, want %q", key, again, err, first)
				}
			}
		}
		t.Logf("%s: %d works ran for %d keys", name, ran.Load(), keys)
		if sync == "7" && ran.Load() != keys {
			t.Errorf("%s: %d works ran for %d keys", name, ran.Load(), keys)
		}
	}
	c.wantEffects([]int{0, 1, 2}, 400)
}

// TestClusterNodeKilledUnderLoad: 500 orders, each sent three times to any node, and one node dies by SIGKILL in the middle. It
// comes back, and has them all.
func TestClusterNodeKilledUnderLoad(t *testing.T) {
	c := newCluster(t, nil)
	engines := c.engines()
	const keys, sendings = 500, 3
	var ran, done atomic.Int64
	work := make(chan int, keys*sendings)
	for n := range keys * sendings {
		work <- n % keys
	}
	close(work)
	answers := make([]sync.Map, keys)
	var callers sync.WaitGroup
	for range 12 {
		callers.Go(func() {
			for k := range work {
				answer, err := c.place(engines, rand.IntN(3), fmt.Sprint("key ", k), &ran)
				if err != nil {
					t.Errorf("key %d: %v", k, err)
				}
				answers[k].Store(answer, true)
				done.Add(1)
			}
		})
	}
	for done.Load() < keys*sendings/3 {
		time.Sleep(time.Millisecond)
	}
	c.nodes[2].Kill()
	callers.Wait()
	for k := range answers {
		different := 0
		answers[k].Range(func(any, any) bool { different++; return true })
		if different != 1 {
			t.Errorf("key %d has %d different answers", k, different)
		}
	}
	c.wantEffects([]int{0, 1}, keys)
	if err := c.nodes[2].Rejoin(); err != nil {
		t.Fatal(err)
	}
	c.wantEffects([]int{0, 1, 2}, keys)
	t.Logf("%d works ran for %d keys", ran.Load(), keys)
}

// TestClusterWithoutMajority: a node that is left alone takes no writes, and says so; nothing of them stands. When an operator
// has it go on, or the others come back, the same commands are carried out once.
func TestClusterWithoutMajority(t *testing.T) {
	c := newCluster(t, nil)
	engines := c.engines()
	var ran atomic.Int64
	if _, err := c.place(engines[:1], 0, "before", &ran); err != nil {
		t.Fatal(err)
	}
	c.nodes[1].Kill()
	c.nodes[2].Kill()
	refused := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := engines[0].Do(ctx, order.For(onceward.Scope{Tenant: "acme", Principal: "alice"}, "alone", nil),
			func(ctx context.Context, tx sqlstore.Tx) (onceward.Outcome, error) {
				return outcomeOf("alone"), errors.Join(write(ctx, tx, "alone"), write(ctx, tx, "alone"))
			})
		return err
	}
	for range 2 { // the first may have been under way when the majority was lost
		if err := refused(); !errors.Is(err, onceward.ErrUnavailable) && !errors.Is(err, onceward.ErrNotCommitted) && !errors.Is(err, onceward.ErrCommitUnresolved) {
			t.Errorf("without a majority: %v", err)
		}
	}
	if err := refused(); !errors.Is(err, onceward.ErrUnavailable) {
		t.Errorf("without a majority: %v, want that it is unavailable", err)
	}
	if err := c.nodes[0].Bootstrap(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := c.place(engines[:1], 0, "alone", &ran); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range []int{1, 2} {
		if err := c.nodes[i].Rejoin(); err != nil {
			t.Fatal(err)
		}
	}
	c.wantEffects([]int{0, 1, 2}, 2)
}
