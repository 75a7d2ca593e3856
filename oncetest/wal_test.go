package oncetest

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const testPage = 512

func walHeader(salt byte) []byte {
	header := make([]byte, walHeaderBytes)
	binary.BigEndian.PutUint32(header[8:], testPage)
	header[16] = salt
	return header
}

func frame(salt byte, commit uint32) []byte {
	data := make([]byte, frameHeaderBytes+testPage)
	binary.BigEndian.PutUint32(data[4:], commit)
	data[8] = salt
	return data
}

func TestLogEndsBehindItsLastCommit(t *testing.T) {
	t.Parallel()
	const whole = frameHeaderBytes + testPage
	log := slices.Concat(walHeader(1), frame(1, 0), frame(1, 2), frame(1, 0), frame(2, 3), frame(1, 4))
	for name, c := range map[string]struct {
		log  []byte
		want int64
	}{
		"what follows is dead, or of an earlier life": {log, walHeaderBytes + 2*whole},
		"a header alone":                   {log[:walHeaderBytes], walHeaderBytes},
		"a commit whose page is not whole": {log[:walHeaderBytes+2*whole-1], walHeaderBytes},
	} {
		if end, err := scanWAL(bytes.NewReader(c.log)); err != nil || end.bytes != c.want || end.salts[0] != 1 || end.page != testPage {
			t.Errorf("%s: the end is %+v, %v, want %d bytes", name, end, err, c.want)
		}
	}
	if _, err := scanWAL(bytes.NewReader(log[:walHeaderBytes-1])); err != io.EOF {
		t.Errorf("half a header: %v, want io.EOF", err)
	}
}

func TestPointsOfALog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	before := slices.Concat(walHeader(1), frame(1, 1))
	written := slices.Concat(before, frame(1, 0), frame(1, 2), frame(1, 0), frame(1, 0))
	if err := os.WriteFile(path+"-wal", written, 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := scanWAL(bytes.NewReader(before))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{
		"before commit 1", "in commit 1, after 1 of its pages", "after commit 1, before the next",
		"in commit 2, after 1 of its pages", "in commit 2, after 2 of its pages",
	} {
		w := &walStage{path: path, n: n, armed: end}
		if got, again, err := w.disarm(true); err != nil || again || got != want {
			t.Errorf("point %d is %q, %t, %v, want %q", n, got, again, err, want)
		}
	}
	w := &walStage{path: path, armed: end}
	if _, again, err := w.disarm(false); again || err != nil {
		t.Errorf("the same log: again is %t, %v", again, err)
	}
	w.armed.salts[0] = 9
	if _, again, err := w.disarm(false); !again || err != nil {
		t.Errorf("a log that began anew: again is %t, %v", again, err)
	}
}

func TestWithoutALogThePageIsTheDatabases(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	header := make([]byte, fileHeaderBytes)
	for size, want := range map[uint16]int64{4096: 4096, 1: 65536} {
		binary.BigEndian.PutUint16(header[pageSizeAt:], size)
		header[18] = 2
		if err := os.WriteFile(path, header, 0o600); err != nil {
			t.Fatal(err)
		}
		if end, err := readWAL(path); err != nil || end.page != want || end.bytes != walHeaderBytes {
			t.Errorf("%d: %+v, %v", size, end, err)
		}
	}
	header[18] = 1
	if err := os.WriteFile(path, header, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readWAL(path); err == nil {
		t.Error("a file that is not in WAL mode is taken")
	}
}

func FuzzLog(f *testing.F) {
	f.Add(slices.Concat(walHeader(1), frame(1, 0), frame(1, 2)))
	f.Fuzz(func(t *testing.T, log []byte) {
		end, err := scanWAL(bytes.NewReader(log))
		if err == nil && (end.bytes > int64(len(log)) || end.bytes < walHeaderBytes) {
			t.Errorf("a log of %d bytes ends at %d", len(log), end.bytes)
		}
	})
}
