package shop

import (
	"embed"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/migration"
)

//go:embed migrations
var files embed.FS

// What the shop keeps in a database beside onceward's own tables: tables in the order in which they can be dropped, and
// the table that knows which migrations were applied.
var tables = []string{
	"orders", "stock", "payments", "cancellations", "shipments", "preferences", "exports", "export_chunks", "quotes", "coupons",
	"refunds", "tasks",
}

const migrationTable = "shop_migration"

// operations are all that the shop keeps records of.
var operations = []*onceward.Operation{
	createOrder, createAPIOrder, confirmQuote(QuoteLifeDefault), notePayment, shipOrder, createCoupon, createRefund, createTask,
	createExport,
}

// operationNames are those that the records of the operations have: tokens have one of their own (Engine.Issue).
func operationNames() (names []string) {
	for _, operation := range operations {
		names = append(names, operation.Name)
		if operation.Submit > 0 {
			names = append(names, operation.Name+"#token")
		}
	}
	return names
}

// migrations are the steps of the shop's own tables.
func migrations(kind Kind) []migration.Migration {
	all, err := migration.Read(files, "migrations/"+string(kind))
	if err != nil {
		panic(err) // they are embedded: the tests have read them
	}
	return all
}
