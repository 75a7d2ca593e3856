package sqlitestore

import (
	"context"
	"fmt"
)

// Waiting is how many callers wait for their turn at the writer.
func (s *Store) Waiting() int { return s.queue.length() }

// Busy reports whether an attempt has its turn at the writer.
func (s *Store) Busy() bool {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.taken
}

// Suspect makes the store believe that its last commit failed after it may have reached the log.
func (s *Store) Suspect(ctx context.Context) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.queue.give()
	s.writer.suspect = true
	return nil
}

// PagesMax bounds the file, as a disk does; 0 lifts the bound.
func (s *Store) PagesMax(ctx context.Context, pages int) error {
	if err := s.take(ctx); err != nil {
		return err
	}
	defer s.queue.give()
	if pages == 0 {
		pages = 1 << 30
	}
	var now int
	return s.writer.conn.QueryRowContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&now)
}
