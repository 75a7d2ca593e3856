package sqlitestore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// breakLog has every fsync of the write-ahead log fail, as a failing disk does: all of this process's descriptors of the
// log become /dev/null, which takes any bytes and cannot be synchronised. It returns what mends them.
func breakLog(t *testing.T, path string) (mend func()) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	saved := map[int]int{}
	for _, entry := range entries {
		fd, _ := strconv.Atoi(entry.Name())
		if name, err := os.Readlink(filepath.Join("/proc/self/fd", entry.Name())); err != nil || name != path+"-wal" {
			continue
		}
		if saved[fd], err = syscall.Dup(fd); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			t.Fatal(err)
		}
	}
	if len(saved) == 0 {
		t.Fatal("the log is not open")
	}
	return sync.OnceFunc(func() {
		for fd, copied := range saved {
			_ = syscall.Dup3(copied, fd, 0)
			_ = syscall.Close(copied)
		}
	})
}

// failing has the log broken while one attempt is saved.
type failing struct {
	onceward.Store[sqlstore.Tx]
	save func(save func())
}

func (s *failing) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[sqlstore.Tx], *onceward.Record, error) {
	attempt, record, err := s.Store.Claim(ctx, want, wait)
	if attempt != nil {
		attempt = &failingAttempt{attempt, s.save}
	}
	return attempt, record, err
}

type failingAttempt struct {
	onceward.Attempt[sqlstore.Tx]
	save func(save func())
}

func (a *failingAttempt) Save(ctx context.Context, o onceward.Outcome) (untouched bool, err error) {
	a.save(func() { untouched, err = a.Attempt.Save(ctx, o) })
	return untouched, err
}

// TestF04_FsyncFailsInCommit: whether the commit is in the log is not known. It is settled as not committed once the log
// can be written over, and not before.
func TestF04_FsyncFailsInCommit(t *testing.T) {
	for name, c := range map[string]struct {
		mended bool
		want   error
	}{
		"the disk recovers":     {true, onceward.ErrNotCommitted},
		"the disk stays broken": {false, onceward.ErrCommitUnresolved},
	} {
		t.Run(name, func(t *testing.T) {
			store, path := fresh(t, sqlitestore.Options{})
			mend := func() {}
			engine := engineOn(t, &failing{store, func(save func()) {
				mend = breakLog(t, path)
				save()
				if c.mended {
					mend()
				}
			}}, onceward.Options{ResolveTimeout: 100 * time.Millisecond, MemoryBytesMax: -1})
			healthy := engineOn(t, store, onceward.Options{MemoryBytesMax: -1})
			if _, err := healthy.Do(t.Context(), place.For(caller, "before", nil), writes("before")); err != nil {
				t.Fatal(err)
			}
			command := place.For(caller, "k", nil)
			_, err := engine.Do(t.Context(), command, writes("k"))
			mend()
			if !errors.Is(err, c.want) {
				t.Errorf("Do: %v, want %v", err, c.want)
			}
			if effects(t, path, "k") != 0 || records(t, path) != 1 {
				t.Errorf("%d effects, %d records", effects(t, path, "k"), records(t, path))
			}
			result, err := healthy.Do(t.Context(), command, writes("k"))
			if err != nil || result.Replayed || effects(t, path, "k") != 1 || records(t, path) != 2 {
				t.Errorf("the retry: %v, replayed %t, %d effects, %d records", err, result.Replayed, effects(t, path, "k"), records(t, path))
			}
			if count(t, path, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") != 0 {
				t.Error("the file is damaged")
			}
		})
	}
}
