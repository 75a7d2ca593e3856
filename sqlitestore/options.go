package sqlitestore

import (
	"fmt"
	"time"
)

// Defaults of Options.
const (
	QueueTimeoutDefault = 10 * time.Second
	QueueMaxDefault     = 1000
	BusyTimeoutDefault  = 5 * time.Second
	WorkTimeoutDefault  = time.Minute
	ReadTimeoutDefault  = 5 * time.Second
	ReadersDefault      = 4
)

// Options of a Store. The zero value works.
type Options struct {
	// QueueTimeout bounds how long a caller waits for its turn at the writer, beside its context; then it is told
	// onceward.ErrUnavailable. Defaults to 10 s.
	QueueTimeout time.Duration
	// QueueMax bounds the callers that wait for their turn; one more is told onceward.ErrUnavailable at once. Defaults
	// to 1000.
	QueueMax int
	// BusyTimeout bounds how long a connection waits for a lock that another process holds on the file; then the caller
	// is told onceward.ErrUnavailable. Defaults to 5 s.
	BusyTimeout time.Duration
	// WorkTimeout bounds the statements of one attempt, counted from its claim: a statement that runs then is
	// interrupted and the attempt is rolled back. A work's context, which the engine bounds, interrupts earlier.
	// Defaults to 1 minute.
	WorkTimeout time.Duration
	// ReadTimeout bounds each read transaction of Reader, however idle: while one is open the write-ahead log cannot be
	// emptied. Then its statement is interrupted and its rows or transaction end with ErrReadTimeout. Defaults to 5 s.
	ReadTimeout time.Duration
	// Readers bounds the connections of Reader. Defaults to 4.
	Readers int
}

func (o Options) withDefaults() Options {
	o.QueueTimeout = orDefault(o.QueueTimeout, QueueTimeoutDefault)
	o.QueueMax = orDefault(o.QueueMax, QueueMaxDefault)
	o.BusyTimeout = orDefault(o.BusyTimeout, BusyTimeoutDefault)
	o.WorkTimeout = orDefault(o.WorkTimeout, WorkTimeoutDefault)
	o.ReadTimeout = orDefault(o.ReadTimeout, ReadTimeoutDefault)
	o.Readers = orDefault(o.Readers, ReadersDefault)
	return o
}

func (o Options) validate() error {
	if o.QueueTimeout < 0 || o.BusyTimeout < 0 || o.WorkTimeout < 0 || o.ReadTimeout < 0 {
		return fmt.Errorf("sqlitestore: Options: the time-outs must not be negative (queue %v, busy %v, work %v, read %v)",
			o.QueueTimeout, o.BusyTimeout, o.WorkTimeout, o.ReadTimeout)
	}
	if o.QueueMax < 0 || o.Readers < 0 {
		return fmt.Errorf("sqlitestore: Options: the bounds must not be negative (queue %d, readers %d)", o.QueueMax, o.Readers)
	}
	return nil
}

func orDefault[T comparable](value, other T) T {
	var zero T
	if value == zero {
		return other
	}
	return value
}
