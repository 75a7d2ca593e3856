package shop

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
)

// errOutOfStock: nothing was ordered; the key stays free for a later try.
var errOutOfStock = refuse(http.StatusConflict, "out_of_stock", "There is not enough in stock",
	"Nothing was ordered. Order fewer, or come again later.")

// reserve takes an order's pieces from the stock, by one conditional update; a SKU without a row is unlimited. The row's
// lock keeps another order of the SKU waiting until this one has ended, so it is the last statement of its work that can be.
func reserve[Tx any](ctx context.Context, db Database[Tx], tx Tx, tenant, sku string, quantity int64) (reserved bool, _ error) {
	fitted, err := db.Exec(ctx, tx, `UPDATE stock SET available = available - ? WHERE tenant = ? AND sku = ? AND available >= ?`,
		quantity, tenant, sku, quantity)
	if err != nil || fitted == 1 {
		return fitted == 1, err
	}
	var available int64
	err = db.Row(ctx, tx, `SELECT available FROM stock WHERE tenant = ? AND sku = ?`, tenant, sku).Scan(&available)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		err = errOutOfStock
	}
	return false, err
}

// release gives an order's pieces back.
func release[Tx any](ctx context.Context, db Database[Tx], tx Tx, o *Order) error {
	_, err := db.Exec(ctx, tx, `UPDATE stock SET available = available + ? WHERE tenant = ? AND sku = ?`, o.Quantity, o.Owner.Tenant, o.SKU)
	return err
}
