package sqlitestore_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/onceward/onceward/sqlitestore"
)

const nobody = 65534

func init() { children["open"] = childOpens }

// childOpens opens the file as a user without rights and prints what keeps him from it.
func childOpens(ctx context.Context, path string, out io.Writer) error {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(nobody); err != nil {
			return err
		}
	}
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err == nil {
		err = store.Close()
	}
	_, _ = fmt.Fprint(out, err)
	return nil
}

// What would fail at the first request is found at the start.
func TestOpenSaysWhatPermissionIsLacking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, folder os.FileMode
		says         string
	}{
		"all is permitted":           {0o666, 0o777, "<nil>"},
		"the file cannot be written": {0o444, 0o777, "it can be read only"},
		"the file cannot be read":    {0, 0o777, "the permission for it is lacking"},
		"nothing can be added":       {0o444, 0o555, "readonly database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(tempDir(t), "x.db")
			if err := open(t, path, sqlitestore.Options{}).Close(); err != nil {
				t.Fatal(err)
			}
			for path, mode := range map[string]os.FileMode{path: c.file, filepath.Dir(path): c.folder} {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			cmd, out := spawn(t, "open", path)
			said, err := io.ReadAll(out)
			if err != nil || cmd.Wait() != nil || !strings.Contains(string(said), c.says) {
				t.Errorf("it says %q, %v", said, cmd.Stderr)
			}
		})
	}
}
