package onceclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward/internal/dbtest"
	"github.com/onceward/onceward/onceclient"
)

// demo starts the demo in a process of its own and returns its address.
func demo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "onceward")
	if printed, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "github.com/onceward/onceward/cmd/onceward").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	cmd := exec.Command(binary, "demo", "--addr", "127.0.0.1:0", "--database", filepath.Join(dir, "demo.db"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dbtest.Spawn(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := regexp.MustCompile(`listens on http://(\S+)`).FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	t.Fatal("the demo did not start")
	return ""
}

// cutting is the address of a network to addr that loses connections: of every three, one before the request arrives, and
// one before the answer does.
func cutting(t *testing.T, addr string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for n := 0; ; n++ {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = near.Close() }()
				far, err := net.Dial("tcp", addr)
				if err != nil || n%3 == 0 {
					return
				}
				defer func() { _ = far.Close() }()
				go func() { _, _ = io.Copy(far, near) }()
				if n%3 == 1 {
					_, _ = far.Read(make([]byte, 1)) // the service has answered
					return
				}
				_, _ = io.Copy(near, far)
			}()
		}
	}()
	return listener.Addr().String()
}

// Sixty orders through a network that loses two connections of three: sixty orders, each answered.
func TestOrdersThroughABadNetwork(t *testing.T) {
	t.Parallel()
	addr := demo(t)
	options := quick
	options.Base = &http.Transport{DisableKeepAlives: true}
	client, url := newClient(t, options), "http://"+cutting(t, addr)+"/orders"
	const orders = 60
	var replays atomic.Int64
	var all sync.WaitGroup
	for i := range orders {
		all.Go(func() {
			ctx := onceclient.WithKey(t.Context(), onceclient.NewKey())
			response, err := place(ctx, client, url)
			for errors.Is(err, onceclient.ErrUnknown) { // the budget is used up: the intent is sent again, with its key
				response, err = place(ctx, client, url)
			}
			if err != nil {
				t.Errorf("order %d: %v", i, err)
				return
			}
			if response.StatusCode != http.StatusCreated {
				t.Errorf("order %d: %s", i, response.Status)
			}
			if response.Header.Get("Idempotent-Replayed") == "true" {
				replays.Add(1)
			}
		})
	}
	all.Wait()
	if n := placed(t, addr); n != orders {
		t.Errorf("there are %d orders, want %d", n, orders)
	}
	if replays.Load() == 0 {
		t.Error("no answer was lost: nothing was put to the test")
	}
}

func place(ctx context.Context, client *http.Client, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"sku":"BOOK","quantity":2}`))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer demo-acme-alice")
	response, err := client.Do(r)
	if err == nil {
		_ = response.Body.Close()
	}
	return response, err
}

// placed counts the demo's orders.
func placed(t *testing.T, addr string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/orders?limit=1000", addr), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer demo-acme-alice")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var list struct{ Orders []struct{} }
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	return len(list.Orders)
}
