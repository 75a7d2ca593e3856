package main

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// River keeps jobs unique; a job that is inserted with the order makes the order unique, and its arguments hold the answer.
var riverJob = peer{
	name:   "River",
	module: "github.com/riverqueue/river",
	how: "one transaction: `InsertTx` of a job that is unique by its key, the answer among its arguments, the order, `COMMIT`; " +
		"a skipped duplicate gives the first job's arguments; no worker runs, so that nothing but the insert is measured",
	open: func(ctx context.Context, s site) (*shop, error) {
		driver := riverpgxv5.New(s.pool)
		migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: silent})
		if err != nil {
			return nil, err
		}
		if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return nil, err
		}
		client, err := river.NewClient(driver, &river.Config{Logger: silent})
		if err != nil {
			return nil, err
		}
		return &shop{close: func() {}, order: func(ctx context.Context, key string, quantity int) (response []byte, err error) {
			err = pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
				response, err = s.byRiver(ctx, client, tx, key, quantity)
				return err
			})
			return response, err
		}}, nil
	},
}

// orderPlaced is the job that is to follow an order.
type orderPlaced struct {
	Key    string          `json:"key" river:"unique"`
	Answer json.RawMessage `json:"answer"`
}

// Kind implements river.JobArgs.
func (orderPlaced) Kind() string { return "order_placed" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (orderPlaced) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

func (s site) byRiver(ctx context.Context, client *river.Client[pgx.Tx], tx pgx.Tx, key string, quantity int) ([]byte, error) {
	id := newID()
	inserted, err := client.InsertTx(ctx, tx, orderPlaced{Key: key, Answer: answerOf(id, quantity)}, nil)
	if err != nil {
		return nil, err
	}
	if inserted.UniqueSkippedAsDuplicate {
		var first orderPlaced
		err := json.Unmarshal(inserted.Job.EncodedArgs, &first)
		return first.Answer, err
	}
	return s.placeBy(id, key, quantity, func(sql string, arguments ...any) error {
		_, err := tx.Exec(ctx, sql, arguments...)
		return err
	})
}
