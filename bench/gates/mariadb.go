package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/onceward/onceward/bench"
)

const mariaDBCallers = 32

// Do against the bare transaction on MariaDB.
var mariaDB = trial{
	gates: []gate{{name: "Do ÷ bare on MariaDB, c=32, loopback", decimals: 2, need: 0.45, aim: 0.55}},
	measure: func(ctx context.Context, l *lab) (_ []figure, err error) {
		shop, err := bench.OpenMariaDBShop(ctx, mariaDBCallers)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, shop.Close()) }()
		if err := errors.Join(bench.Calls(ctx, mariaDBCallers, 50*mariaDBCallers, shop.Bare), bench.Calls(ctx, mariaDBCallers, 50*mariaDBCallers, shop.Once)); err != nil {
			return nil, err
		}
		ratios, err := bench.Ratios(ctx, l.rounds, bench.Callers(mariaDBCallers, l.window, shop.Bare), bench.Callers(mariaDBCallers, l.window, shop.Once))
		if err != nil {
			return nil, err
		}
		return []figure{{bench.Median(ratios), spread(ratios, "%.2f") + fmt.Sprintf(
			"; SET TRANSACTION, BEGIN, INSERT, COMMIT against Do with the same INSERT; %v a side in turn, one pool of %d; innodb_flush_log_at_trx_commit=1", l.window, mariaDBCallers)}}, nil
	},
}
