package shop

import (
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	// workEvery is how often a process looks for exports that another process has begun.
	workEvery = time.Second
	// chunkRows bounds the orders of one step.
	chunkRows = 500
	// exportsMax bounds the exports that one look takes up.
	exportsMax = 100
	// stepTimeout bounds one step.
	stepTimeout = 10 * time.Second
)

// errHopeless: no later step of the export can succeed.
var errHopeless = errors.New("shop: the export cannot be written")

// work writes the exports that are running, whoever has asked for them, until ctx ends. An export is written in small
// steps, each a transaction that moves it on from where it stands: any number of processes may work on it, none of them
// has to finish, and no row is written twice.
func (s *service[Tx]) work(ctx context.Context) {
	ticker := time.NewTicker(workEvery)
	defer ticker.Stop()
	for {
		s.workOnce(ctx)
		select {
		case <-s.wake:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// workOnce takes each running export as far as it goes. One whose step fails is tried again at the next look.
func (s *service[Tx]) workOnce(ctx context.Context) {
	ids, err := s.runningExports(ctx)
	for _, id := range ids {
		for more := true; more && err == nil && ctx.Err() == nil; {
			more, err = s.step(ctx, id)
		}
		if errors.Is(err, errHopeless) {
			s.options.Logger.ErrorContext(ctx, "an export has failed", slog.String("export", id))
			err = s.giveUp(ctx, id)
		}
		if err != nil && ctx.Err() == nil {
			s.options.Logger.WarnContext(ctx, "an export does not go on", slog.String("export", id), slog.String("type", fmt.Sprintf("%T", err)))
		}
		err = nil // the next one may go on
	}
}

func (s *service[Tx]) runningExports(ctx context.Context) (ids []string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := s.db.Read(ctx, func(row Scanner) error {
		var id string
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT id FROM exports WHERE state = ? ORDER BY id LIMIT ?`, exportRunning, exportsMax)
	if err != nil && ctx.Err() == nil {
		s.options.Logger.WarnContext(ctx, "the exports cannot be read", slog.String("type", fmt.Sprintf("%T", err)))
	}
	return ids, err
}

// position is where an export stands.
type position struct {
	id, tenant, month     string
	total, written, chunk int64
	last                  uuid.UUID // of the orders that are written; the least of all ids at first
}

// step writes the next chunk, if the export is still running, and reports whether there is more to do.
func (s *service[Tx]) step(ctx context.Context, id string) (more bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := s.db.Transact(ctx, func(tx Tx) error {
		more = false
		at := position{id: id}
		var last *uuid.UUID
		err := s.db.Row(ctx, tx, `SELECT tenant, month, total, written, chunk, position FROM exports WHERE id = ? AND state = ?`, id, exportRunning).
			Scan(&at.tenant, &at.month, &at.total, &at.written, &at.chunk, &last)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // another process has finished it
		}
		if err != nil {
			return err
		}
		at.last = orZero(last)
		more, err = s.writeChunk(ctx, tx, at)
		return err
	})
	return more, err
}

// writeChunk reads the orders that follow and writes them down. Orders are read as they are committed, whatever the
// transaction sees: only this export's row is locked.
func (s *service[Tx]) writeChunk(ctx context.Context, tx Tx, at position) (more bool, _ error) {
	from, until, err := idsOf(at.month)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errHopeless, err)
	}
	if at.chunk == 0 {
		if at.total, err = s.countOrders(ctx, at.tenant, from, until); err != nil {
			return false, err
		}
	}
	orders, err := s.readOrders(ctx, "tenant = ? AND id >= ? AND id < ? AND id > ? ORDER BY id LIMIT ?",
		at.tenant, from.String(), until.String(), at.last.String(), chunkRows)
	if err != nil {
		return false, err
	}
	at.chunk++
	added, err := s.db.Insert(ctx, tx, "export_chunks", "export_id, chunk, data", at.id, at.chunk, csvOf(orders, at.chunk == 1))
	switch {
	case err != nil:
		return false, err
	case !added:
		return false, fmt.Errorf("%w: its chunk %d is there", errHopeless, at.chunk)
	}
	state := exportRunning
	if len(orders) < chunkRows {
		state = exportCompleted
	} else {
		at.last = orders[len(orders)-1].ID
	}
	_, err = s.db.Exec(ctx, tx, `UPDATE exports SET state = ?, total = ?, written = ?, chunk = ?, position = ? WHERE id = ?`,
		state, at.total, at.written+int64(len(orders)), at.chunk, at.last.String(), at.id)
	return state == exportRunning, err
}

func (s *service[Tx]) countOrders(ctx context.Context, tenant string, from, until uuid.UUID) (n int64, _ error) {
	err := s.db.Read(ctx, func(row Scanner) error { return row.Scan(&n) },
		`SELECT count(*) FROM orders WHERE tenant = ? AND id >= ? AND id < ?`, tenant, from.String(), until.String())
	return n, err
}

// giveUp ends an export that cannot be written.
func (s *service[Tx]) giveUp(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return s.db.Transact(ctx, func(tx Tx) error {
		_, err := s.db.Exec(ctx, tx, `UPDATE exports SET state = ? WHERE id = ? AND state = ?`, exportFailed, id, exportRunning)
		return err
	})
}

// csvOf writes orders as RFC 4180 has them.
func csvOf(orders []*Order, header bool) string {
	var text strings.Builder
	w := csv.NewWriter(&text)
	w.UseCRLF = true
	if header {
		_ = w.Write([]string{"id", "order_no", "sku", "quantity", "amount_cents", "status", "created"}) // a Builder takes all
	}
	for _, o := range orders {
		seconds, nanoseconds := o.ID.Time().UnixTime()
		_ = w.Write([]string{
			o.ID.String(), o.Number, cell(o.SKU), strconv.FormatInt(o.Quantity, 10), strconv.FormatInt(o.AmountCents, 10), o.Status,
			time.Unix(seconds, nanoseconds).UTC().Format(time.RFC3339),
		})
	}
	w.Flush()
	return text.String()
}
