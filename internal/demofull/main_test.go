package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/onceward/onceward/internal/dbtest"
)

// The demo comes up on its servers, takes an order, and all of it ends at one signal.
func TestDemoOnPrivateServers(t *testing.T) {
	for _, database := range []string{"postgres", "mariadb"} {
		t.Run(database, func(t *testing.T) { demoOn(t, database) })
	}
}

func demoOn(t *testing.T, database string) {
	dir := t.TempDir()
	build := func(name, target string) string {
		path := filepath.Join(dir, name)
		if printed, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, target).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, printed)
		}
		return path
	}
	onceward := build("onceward", "github.com/onceward/onceward/cmd/onceward")
	cmd := exec.Command(build("demofull", "."), database, onceward, "--addr", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dbtest.Spawn(cmd); err != nil {
		t.Fatal(err)
	}
	url := ""
	for lines := bufio.NewScanner(out); url == "" && lines.Scan(); {
		if found := regexp.MustCompile(`listens on (\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			url = found[1]
		}
	}
	request, err := http.NewRequest(http.MethodPost, url+"/orders", strings.NewReader(`{"sku":"BOOK","quantity":2}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer demo-acme-alice")
	request.Header.Set("Idempotency-Key", "k")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if answer.StatusCode != http.StatusCreated {
		t.Errorf("the status is %s", answer.Status)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
