package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
)

var silent = slog.New(slog.DiscardHandler)

const dbosShutdownWithin = 2 * time.Second

// DBOS runs workflows, whose id is the idempotency key.
var dbosWorkflow = peer{
	name:   "DBOS",
	module: "github.com/dbos-inc/dbos-transact-golang",
	how: "`RunWorkflow` under the key as workflow id, with one `RunAsTransaction` on a data source that is the system database's own pool, " +
		"which commits the order and the step's record together; `GetResult`",
	spare: 1, // it listens for notifications
	open: func(ctx context.Context, s site) (*shop, error) {
		dctx, err := dbos.NewContext(ctx, dbos.Config{
			AppName: "shop", SystemDBPool: s.pool, Logger: silent, ExecutorID: s.process, ApplicationVersion: "1",
		})
		if err != nil {
			return nil, err
		}
		source, err := dbos.NewDataSource(dctx, s.pool)
		if err != nil {
			return nil, err
		}
		workflow := func(ctx dbos.Context, in dbosOrder) (string, error) {
			return dbos.RunAsTransaction(ctx, source, func(ctx context.Context, tx dbos.Tx) (string, error) {
				response, err := s.placeBy(newID(), in.Key, in.Quantity, func(sql string, arguments ...any) error {
					_, err := tx.Exec(ctx, sql, arguments...)
					return err
				})
				return string(response), err
			})
		}
		dbos.RegisterWorkflow(dctx, workflow, dbos.WithWorkflowName("create-order"))
		if err := dbos.Launch(dctx); err != nil {
			return nil, err
		}
		return &shop{
			close: func() { dbos.Shutdown(dctx, dbosShutdownWithin) },
			order: func(ctx context.Context, key string, quantity int) ([]byte, error) {
				handle, err := dbos.RunWorkflow(dctx, workflow, dbosOrder{key, quantity}, dbos.WithWorkflowID(key))
				if err != nil {
					return nil, err
				}
				var options []dbos.GetResultOption
				if deadline, ok := ctx.Deadline(); ok {
					options = append(options, dbos.WithHandleTimeout(max(time.Millisecond, time.Until(deadline))))
				}
				response, err := handle.GetResult(options...)
				return []byte(response), err
			},
		}, nil
	},
}

// dbosOrder is a workflow's input.
type dbosOrder struct {
	Key      string
	Quantity int
}
