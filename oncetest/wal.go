package oncetest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
)

// limitHeader brings the process the size in bytes past which it may not write a file.
const limitHeader = "Oncetest-Limit"

// The sizes in SQLite's formats (https://www.sqlite.org/fileformat2.html): the log has a header and then frames, each of which
// is a header and a page.
const (
	walHeaderBytes   = 32
	frameHeaderBytes = 24
	pageSizeAt       = 16 // in the database's header
	fileHeaderBytes  = 100
)

// walStage kills at the writes to an SQLite file's log: the process may write so many frames more and no further byte.
type walStage struct {
	path  string
	n     int
	armed walEnd
}

// walEnd is where a log ends, for whoever appends to it.
type walEnd struct {
	salts [8]byte // of the log's present life; zero before its first
	bytes int64   // behind the last commit
	page  int64   // the size of a page, in bytes
}

func (e walEnd) frame() int64 { return frameHeaderBytes + e.page }

func (w *walStage) database() string { return w.path }

func (w *walStage) arm(n int, r *http.Request, _ func()) (err error) {
	w.n = n
	if w.armed, err = readWAL(w.path); err != nil {
		return err
	}
	r.Header.Set(limitHeader, strconv.FormatInt(w.armed.bytes+int64(n)*w.armed.frame(), 10))
	return nil
}

// disarm looks at what was written. A log that began anew in a run that nobody killed was written below the limit.
func (w *walStage) disarm(dead bool) (point string, again bool, err error) {
	if dead {
		point, err = w.point()
		return point, false, err
	}
	now, err := readWAL(w.path)
	return "", err == nil && w.armed.salts != [8]byte{} && now.salts != w.armed.salts, err
}

// point tells the commits among the frames that the process has written, and the pages behind the last of them.
func (w *walStage) point() (string, error) {
	file, err := os.Open(w.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return "before commit 1", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	commits, pages := 0, 0
	for n := range int64(w.n) {
		var header [frameHeaderBytes]byte
		if _, err := file.ReadAt(header[:], w.armed.bytes+n*w.armed.frame()); err != nil {
			return "", fmt.Errorf("frame %d of %d: %w", n+1, w.n, err)
		}
		if pages++; isCommit(header) {
			commits, pages = commits+1, 0
		}
	}
	switch {
	case pages > 0:
		return fmt.Sprintf("in commit %d, after %d of its pages", commits+1, pages), nil
	case commits > 0:
		return fmt.Sprintf("after commit %d, before the next", commits), nil
	}
	return "before commit 1", nil
}

func (w *walStage) settle() error { return nil } // nobody but the process has begun anything

func (w *walStage) close() {}

// readWAL finds the end of the log of the file at path. Without a log, or with an empty one, that is behind its header.
func readWAL(path string) (walEnd, error) {
	file, err := os.Open(path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return noWAL(path)
	}
	if err != nil {
		return walEnd{}, err
	}
	defer func() { _ = file.Close() }()
	end, err := scanWAL(bufio.NewReaderSize(file, 1<<16))
	if errors.Is(err, io.EOF) {
		return noWAL(path)
	}
	return end, err
}

// scanWAL reads a log from its beginning. io.EOF is its error where the header is not whole.
func scanWAL(log io.Reader) (walEnd, error) {
	var header [walHeaderBytes]byte
	if _, err := io.ReadFull(log, header[:]); err != nil {
		return walEnd{}, io.EOF
	}
	end := walEnd{salts: [8]byte(header[16:24]), bytes: walHeaderBytes, page: int64(binary.BigEndian.Uint32(header[8:]))}
	if !isPageSize(end.page) {
		return walEnd{}, fmt.Errorf("the log has pages of %d bytes", end.page)
	}
	for at := end.bytes; ; {
		var frame [frameHeaderBytes]byte
		if _, err := io.ReadFull(log, frame[:]); err != nil || [8]byte(frame[8:16]) != end.salts {
			return end, nil
		}
		if n, _ := io.CopyN(io.Discard, log, end.page); n < end.page {
			return end, nil
		}
		if at += end.frame(); isCommit(frame) {
			end.bytes = at
		}
	}
}

// isCommit: the frame that ends a transaction has the database's size in pages.
func isCommit(frame [frameHeaderBytes]byte) bool { return binary.BigEndian.Uint32(frame[4:]) != 0 }

func isPageSize(n int64) bool { return n >= 512 && n <= 65536 && n&(n-1) == 0 }

// noWAL is the end of a log that is yet to begin. The page's size is in the database.
func noWAL(path string) (walEnd, error) {
	file, err := os.Open(path)
	if err != nil {
		return walEnd{}, err
	}
	defer func() { _ = file.Close() }()
	var header [fileHeaderBytes]byte
	if _, err := io.ReadFull(file, header[:]); err != nil {
		return walEnd{}, fmt.Errorf("%s is no SQLite file: %w", path, err)
	}
	page := int64(binary.BigEndian.Uint16(header[pageSizeAt:]))
	if page == 1 {
		page = 65536
	}
	if !isPageSize(page) || header[18] != 2 {
		return walEnd{}, fmt.Errorf("%s is no SQLite file in WAL mode", path)
	}
	return walEnd{bytes: walHeaderBytes, page: page}, nil
}
