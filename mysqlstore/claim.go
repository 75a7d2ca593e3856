package mysqlstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/sqlstore"
)

// errRaced: what the claim had read was changed before it could act on it. It begins anew.
var errRaced = errors.New("mysqlstore: the record was changed meanwhile, again and again")

// Claim implements onceward.Store. A waiting caller holds no connection and stands in no lock's queue, where the waiters of
// a winner that fails would deadlock: it asks again.
func (s *Store) Claim(ctx context.Context, want *onceward.Record, wait time.Duration) (onceward.Attempt[sqlstore.Tx], *onceward.Record, error) {
	deadline := time.Now().Add(wait)
	races := 0
	for pause := pauseMin; ; pause = min(pause*3/2, pauseMax) {
		a, record, err := s.claim(ctx, want)
		left := time.Until(deadline)
		switch {
		case a != nil:
			return a, nil, nil
		case err == nil:
			return nil, record, nil
		case errors.Is(err, onceward.ErrInFlight) && left > 0:
			if err := sleep(ctx, min(jitter(pause), left)); err != nil {
				return nil, nil, err
			}
		case restarts(err) && races < raceMax:
			races++
			if err := sleep(ctx, jitter(pauseMin)); err != nil {
				return nil, nil, err
			}
		default:
			return nil, nil, failure("claim", err)
		}
	}
}

// jitter is a duration between a half and one and a half of d.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// restarts reports whether the claim itself was rolled back, with nothing decided: it may be made anew at once.
func restarts(err error) bool { return errors.Is(err, errRaced) || numberOf(err) == codeDeadlock }

// claim asks once.
func (s *Store) claim(ctx context.Context, want *onceward.Record) (_ *attempt, record *onceward.Record, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ClaimTimeout)
	defer cancel()
	c, err := s.acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			c.abandon(ctx, err)
		}
	}()
	_, err = c.send(ctx, prepare(s.options.IdleTimeout), begin, insertClaim(want))
	if numberOf(err) == codeDuplicate {
		if record, err = s.contend(ctx, c, want); record != nil {
			c.release()
			return nil, record, nil
		}
	}
	if err != nil {
		return nil, nil, inFlight(err)
	}
	return newAttempt(c, want), nil, nil
}

// contend goes on from a failed insert, whose duplicate is committed: the record that stands is the answer, or its time is
// over and it is taken. It is read by a locking read, which the insert's own lock on the row lets through, and let go of
// before it is taken: two who both read it would keep each other from that.
func (s *Store) contend(ctx context.Context, c *conn, want *onceward.Record) (*onceward.Record, error) {
	record, err := c.read(ctx, want, selectStanding(want.ID), rollback, restore)
	switch {
	case err != nil:
		return nil, err
	case record == nil:
		return nil, errRaced
	case stands(record, want):
		return record, nil
	}
	rows, err := c.send(ctx, prepare(s.options.IdleTimeout), begin, takeRecord(want))
	if err == nil && rows != 1 {
		err = errRaced
	}
	return nil, err
}

// stands reports whether record is in the way of want. A claim that was committed is in nobody's: who held it is gone, or
// was told that it failed.
func stands(record, want *onceward.Record) bool {
	return record.State != onceward.StateRunning && record.InTheWay(want)
}

// inFlight says what it means that a lock could not be had at once: an attempt holds the record.
func inFlight(err error) error {
	if numberOf(err) == codeLockTimeout {
		return fmt.Errorf("%w: %w", onceward.ErrInFlight, scrub(err))
	}
	return err
}

// abandon gives a connection back whose claim failed. One to a server that takes no writes is closed: after a fail-over the
// next one leads to the new primary. So is one that somebody has left in a transaction.
func (c *conn) abandon(ctx context.Context, err error) {
	c.discard = readOnly(err) || numberOf(err) == codeLeftOpen
	c.leave(ctx)
}
