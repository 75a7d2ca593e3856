package shop

import (
	"embed"

	"github.com/onceward/onceward/internal/migration"
)

//go:embed migrations
var files embed.FS

// What the shop keeps in a database beside onceward's own tables: tables in the order in which they can be dropped, and
// the table that knows which migrations were applied.
var tables = []string{"orders"}

const migrationTable = "shop_migration"

// demoTenants are the tenants of DemoCallers; their records are the demo's.
var demoTenants = []string{"acme", "globex"}

// migrations are the steps of the shop's own tables.
func migrations(kind Kind) []migration.Migration {
	all, err := migration.Read(files, "migrations/"+string(kind))
	if err != nil {
		panic(err) // they are embedded: the tests have read them
	}
	return all
}
