//go:build cluster

package proofs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/shop"
)

// TestClusterShopOnTwoNodes: two processes of the shop, each at another node, and every order sent to both at once. Then the
// third node, which neither of them asked, is asked what stands.
func TestClusterShopOnTwoNodes(t *testing.T) {
	nodes := dbtest.StartGalera(t, 3).Nodes
	name := strings.TrimPrefix(nodes[0].Database(t), nodes[0].URL(""))
	servers := []*server{startServer(t, nodes[0].URL(name)), startServer(t, nodes[1].URL(name))}
	const orders = 40
	for i := range orders {
		answers := atOnce(6, func(n int) answer { return insistently(t, servers[n%2].url(), order(fmt.Sprint(i))) })
		wantOneAnswer(t, answers)
	}
	nodes[1].Kill()
	for i := range orders {
		wantStatus(t, insistently(t, servers[0].url(), order(fmt.Sprint(i))), 201)
	}
	if err := nodes[1].Rejoin(); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		look(t, shop.KindMySQL, node.URL(name)).wantRows(orders, orders)
	}
}
