package dbtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// galeraProvider is where Debian puts the library of the package galera-4.
const galeraProvider = "/usr/lib/galera/libgalera_smm.so"

// galeraState is the state that a new cluster begins with.
const galeraState = `# GALERA saved state
version: 2.1
uuid:    6f6e6365-7761-7264-0000-000000000001
seqno:   0
safe_to_bootstrap: 1
`

// Galera is a private cluster of MariaDB servers, whose nodes can crash and come back.
type Galera struct {
	Nodes []*GaleraNode
}

// GaleraNode is a server of a cluster. Its Kill is a crash; Rejoin brings it back.
type GaleraNode struct {
	*MariaDB
}

// StartGalera starts a cluster of n nodes for this test alone. It ends with the test.
func StartGalera(tb testing.TB, n int) *Galera {
	tb.Helper()
	g, err := newGalera(tb, n)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func newGalera(tb testing.TB, n int) (*Galera, error) {
	if _, err := os.Stat(galeraProvider); err != nil {
		return nil, errors.New("dbtest: no Galera library is installed: run scripts/setup cluster")
	}
	g := &Galera{}
	var members []string
	for range n {
		m := StartMariaDB(tb, MariaDBOptions{})
		m.Stop()
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		members = append(members, loopback(port))
		g.Nodes = append(g.Nodes, &GaleraNode{MariaDB: m})
	}
	for i, node := range g.Nodes {
		if err := node.configure(i, members); err != nil {
			return nil, err
		}
	}
	return g, g.begin()
}

// begin has the first node make a cluster's history, of which the others get a copy each.
func (g *Galera) begin() error {
	first := g.Nodes[0]
	if err := first.write(galeraState); err != nil {
		return err
	}
	if err := first.start("--wsrep-new-cluster"); err != nil {
		return err
	}
	first.Stop()
	for _, node := range g.Nodes[1:] {
		if _, err := run(first.command("/bin/sh", "-c", `rm -r "$2" && cp -r "$1" "$2"`, "sh", first.data(), node.data())); err != nil {
			return err
		}
	}
	if err := first.start("--wsrep-new-cluster"); err != nil {
		return err
	}
	for _, node := range g.Nodes[1:] {
		if err := node.start(); err != nil {
			return err
		}
	}
	return nil
}

// galeraScript is what two servers run when one joins the other (wsrep_sst_method): the joiner says where it listens, here a
// named pipe, and the donor tells it from where on it will get what it lacks (IST). A node is never so far behind that it
// would need all; then the script fails.
const galeraScript = `#!/bin/sh
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2 ;;
	--address) address=$2 ;;
	--datadir) data=$2 ;;
	--gtid) position=$2 ;;
	--bypass) bypass=yes ;;
	esac
	shift
done
case $role in
joiner)
	pipe=${data%/}.pipe
	rm -f "$pipe" && mkfifo "$pipe" || exit 1
	echo "ready 127.0.0.1:1/$pipe"
	read -r position <"$pipe" && echo "$position"
	;;
donor)
	[ "$bypass" ] || exit 95
	echo "$position" >"${address#*/}" && echo "done $position"
	;;
esac
`

// configure makes a server a member.
func (n *GaleraNode) configure(i int, members []string) error {
	transfer, err := freePort()
	if err != nil {
		return err
	}
	settings := []string{
		"--wsrep-on=ON", "--wsrep-provider=" + galeraProvider, "--wsrep-cluster-name=onceward",
		"--wsrep-cluster-address=gcomm://" + strings.Join(members, ","), "--wsrep-node-address=127.0.0.1", fmt.Sprintf("--wsrep-node-name=node%d", i),
		"--wsrep-provider-options=gmcast.listen_addr=tcp://" + members[i] + ";ist.recv_addr=" + loopback(transfer) +
			";gcache.size=64M;evs.keepalive_period=PT0.5S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT4S;evs.inactive_check_period=PT0.5S",
		"--wsrep-sst-method=onceward", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-slave-threads=2",
	}
	n.arguments, n.scripts = append(n.arguments, settings...), n.dir
	return os.WriteFile(filepath.Join(n.dir, "wsrep_sst_onceward"), []byte(galeraScript), 0o755)
}

func (n *GaleraNode) write(state string) error {
	path := filepath.Join(n.data(), "grastate.dat")
	if err := os.WriteFile(path, []byte(state), 0o660); err != nil {
		return err
	}
	if n.account == nil {
		return nil
	}
	return os.Chown(path, int(n.account.Uid), int(n.account.Gid))
}

// start starts the node with further settings, and returns when it has all that the cluster has.
func (n *GaleraNode) start(more ...string) error {
	own := n.arguments
	n.arguments = append(own[:len(own):len(own)], more...)
	err := n.Start()
	n.arguments = own
	if err != nil {
		return err
	}
	return n.AwaitSynced()
}

// AwaitSynced returns when the node has all that the cluster's majority has.
func (n *GaleraNode) AwaitSynced() error {
	for deadline := time.Now().Add(startWithin); time.Now().Before(deadline); time.Sleep(pollEvery) {
		if state, err := n.Exec("mysql", "SHOW STATUS WHERE Variable_name IN ('wsrep_local_state_comment', 'wsrep_ready')"); err == nil &&
			strings.Contains(state, "Synced") && strings.Contains(state, "ON") {
			return nil
		}
		n.mu.Lock()
		running := n.running()
		n.mu.Unlock()
		if !running {
			return fmt.Errorf("%s is not a member: %w; its log ends:\n%s", n.name, errExited, n.logTail())
		}
	}
	return fmt.Errorf("%s is not a synced member within %s; its log ends:\n%s", n.name, startWithin, n.logTail())
}

// Bootstrap has the node go on alone, as an operator does who knows that the others are dead.
func (n *GaleraNode) Bootstrap() error {
	if _, err := n.Exec("mysql", "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=1'"); err != nil {
		return err
	}
	return n.AwaitSynced()
}

var recovered = regexp.MustCompile(`Recovered position: ([0-9a-f-]{36}):(-?\d+)`)

// Rejoin starts the node after Kill or Stop, as MariaDB's service does: it finds out what it has, and asks the others for the
// rest.
func (n *GaleraNode) Rejoin() error {
	out, err := n.command(n.program, append(n.arguments[:len(n.arguments):len(n.arguments)], "--wsrep-recover", "--log-error="+filepath.Join(n.dir, "recovery.err"))...).CombinedOutput()
	text, _ := os.ReadFile(filepath.Join(n.dir, "recovery.err"))
	positions := recovered.FindAllStringSubmatch(string(text)+string(out), -1)
	if len(positions) == 0 {
		return fmt.Errorf("%s does not tell what it has: %w: %s", n.name, err, out)
	}
	position := positions[len(positions)-1]
	return n.start("--wsrep-start-position=" + position[1] + ":" + position[2])
}
