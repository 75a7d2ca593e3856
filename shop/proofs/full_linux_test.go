package proofs

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/onceward/onceward/shop"
)

// TestFullDisk: a file system without room for another order, under the demo. It is told as 503, nothing remains of the order, replays
// go on, and with room again the same key succeeds.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("onceward-proof", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small file system needs root: %v; sqlitestore's TestFullFile covers a full file", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 256<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	db := look(t, shop.KindSQLite, filepath.Join(dir, "shop.db"))
	t.Cleanup(func() { _ = db.eyes.Close() }) // before the file system goes
	s := startServer(t, db.name)
	first := post(t, s.url(), order("0"))
	placed, last := 1, answer{status: http.StatusCreated}
	for ; last.status == http.StatusCreated && placed < 5000; placed++ {
		last = post(t, s.url(), order(fmt.Sprint(placed)))
	}
	placed-- // the last one was refused
	wantComeAgain(t, last)
	refused := order(fmt.Sprint(placed))
	wantStatus(t, post(t, s.url(), refused), http.StatusServiceUnavailable)
	db.wantRows(placed, placed)
	wantReplay(t, post(t, s.url(), order("0")), first)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	wantCreated(t, post(t, s.url(), refused))
	s.restart()
	wantReplay(t, post(t, s.url(), order("0")), first)
	db.wantRows(placed+1, placed+1)
}
