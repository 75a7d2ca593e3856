package proofs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/dbtest"
)

// TestF29_ShopBehindSentinel: two processes of the shop behind a Redis whose master dies in the middle of the orders, each sent
// four times. Sentinel makes the replica the master, and the shop finds it.
func TestF29_ShopBehindSentinel(t *testing.T) {
	t.Parallel()
	master := dbtest.StartRedis(t, dbtest.RedisOptions{})
	_, port, _ := strings.Cut(master.Addr(), ":")
	replica := dbtest.StartRedis(t, dbtest.RedisOptions{Settings: []string{"replicaof 127.0.0.1 " + port}})
	sentinel := dbtest.StartRedis(t, dbtest.RedisOptions{Sentinel: true, Settings: []string{
		"sentinel monitor orders 127.0.0.1 " + port + " 1",
		"sentinel down-after-milliseconds orders 300",
		"sentinel failover-timeout orders 2000",
	}})
	until(t, "the replica is known", func() bool {
		return strings.Contains(inRedis(t, sentinel, "SENTINEL", "REPLICAS", "orders"), "master-link-status\nok")
	})
	db := onPostgres(t)
	url := "redis://" + sentinel.Addr() + "?master_set=orders"
	servers := []*server{startServer(t, db.named("one"), "--redis", url), startServer(t, db.named("two"), "--redis", url)}
	const orders = 60
	place := func(i int) {
		wantOneAnswer(t, atOnce(4, func(n int) answer { return insistently(t, servers[n%2].url(), order(fmt.Sprint(i))) }))
	}
	for i := range orders {
		if i == orders/2 {
			master.Kill()
		}
		place(i)
	}
	until(t, "the replica is the master", func() bool {
		role, _ := replica.Command("ROLE") // it drops its clients as it is promoted
		return strings.HasPrefix(role, "master")
	})
	db.wantRows(orders, orders)
	before, more := len(results(t, replica)), 0
	until(t, "the new master gets what is ordered", func() bool {
		place(orders + more)
		more++
		return len(results(t, replica)) > before
	})
	db.wantRows(orders+more, orders+more)
}

// TestShopBehindRedisCluster: the results lie on all nodes.
func TestShopBehindRedisCluster(t *testing.T) {
	t.Parallel()
	var nodes []*dbtest.Redis
	for range 3 {
		nodes = append(nodes, dbtest.StartRedis(t, dbtest.RedisOptions{Settings: []string{"cluster-enabled yes", "cluster-node-timeout 2000"}}))
	}
	host, port, _ := strings.Cut(nodes[0].Addr(), ":")
	for i, slots := range [][2]string{{"0", "5460"}, {"5461", "10921"}, {"10922", "16383"}} {
		inRedis(t, nodes[i], "CLUSTER", "ADDSLOTSRANGE", slots[0], slots[1])
		inRedis(t, nodes[i], "CLUSTER", "MEET", host, port)
	}
	for _, node := range nodes {
		until(t, "the cluster is whole", func() bool {
			info := inRedis(t, node, "CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	db := onPostgres(t)
	s := startServer(t, db.name, "--redis", "redis://"+nodes[0].Addr())
	answers := map[int]answer{}
	const orders = 40
	for i := range orders {
		answers[i] = insistently(t, s.url(), order(fmt.Sprint(i)))
	}
	for _, node := range nodes {
		until(t, "each node has results", func() bool { return len(results(t, node)) > 0 })
	}
	db.exec("DELETE FROM onceward_record")
	db.exec("DELETE FROM orders")
	s.restart()
	for i := range orders { // Redis alone knows them
		wantReplay(t, post(t, s.url(), order(fmt.Sprint(i))), answers[i])
	}
	db.wantRows(0, 0)
}
