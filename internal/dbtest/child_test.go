package dbtest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"testing"
)

const childVariable = "DBTEST_CHILD"

// startServersAndHang is what this test binary does as the process that [TestServerDiesWithItsProcess] kills. It prints the process
// ids of a running server, of a paused one, and of the paused one's children.
func startServersAndHang() {
	running, err1 := NewPostgres(PostgresOptions{})
	paused, err2 := NewPostgres(PostgresOptions{})
	if err1 != nil || err2 != nil {
		os.Exit(1)
	}
	paused.Pause()
	pids := append([]int{running.process.Pid, paused.process.Pid}, childrenOf(paused.process.Pid)...)
	_ = json.NewEncoder(os.Stdout).Encode(pids)
	select {} // until it is killed
}

func readPids(t *testing.T, stdout io.Reader) (pids []int) {
	line := must[string](t)(bufio.NewReader(stdout).ReadString('\n'))
	if err := json.Unmarshal([]byte(line), &pids); err != nil {
		t.Fatal(err)
	}
	return pids
}
