//go:build cluster

package dbtest

import "testing"

func TestGaleraNodesComeBack(t *testing.T) {
	t.Parallel()
	g := StartGalera(t, 3)
	for i, statement := range []string{"CREATE TABLE t (n INT PRIMARY KEY)", "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)"} {
		if _, err := g.Nodes[i].Exec("test", statement); err != nil && i > 0 {
			t.Fatal(err)
		} else if err != nil {
			if _, err := g.Nodes[0].Exec("mysql", "CREATE DATABASE test"); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Nodes[0].Exec("test", statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.Nodes[2].Kill()
	if _, err := g.Nodes[0].Exec("test", "INSERT INTO t VALUES (3)"); err != nil {
		t.Fatal(err)
	}
	if err := g.Nodes[2].Rejoin(); err != nil {
		t.Fatal(err)
	}
	if n, err := g.Nodes[2].Exec("test", "SELECT count(*) FROM t"); err != nil || n != "3" {
		t.Errorf("the node that came back has %q rows, %v", n, err)
	}
}
