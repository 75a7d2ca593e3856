package dbtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
)

const childVariable = "DBTEST_CHILD"

// TestChildStartsServers is no test but the process that [TestServerDiesWithItsProcess] kills.
func TestChildStartsServers(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		t.Skip("runs only as a child process")
	}
	running, paused := StartPostgres(t, PostgresOptions{}), StartPostgres(t, PostgresOptions{})
	paused.Pause()
	pids := append([]int{running.process.Pid, paused.process.Pid}, childrenOf(paused.process.Pid)...)
	fmt.Println(string(must[[]byte](t)(json.Marshal(pids))))
	select {} // until it is killed
}

func readPids(t *testing.T, stdout io.Reader) (pids []int) {
	line := must[string](t)(bufio.NewReader(stdout).ReadString('\n'))
	if err := json.Unmarshal([]byte(line), &pids); err != nil {
		t.Fatal(err)
	}
	return pids
}
