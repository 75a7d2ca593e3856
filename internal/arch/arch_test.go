// Package arch tests the shape of the project: which folder may import which, which folder is a module, how long functions
// are, and that what is public is documented. Nothing imports it.
package arch

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// module is the path of the root module, and the prefix of all others.
const module = "github.com/onceward/onceward"

// place is a folder's place in the project.
type place struct {
	// imports are the project's folders that its code may import, apart by spaces; "." is the root and "*" is any.
	imports string
	// testModule says that the folder is a module for the sake of its tests: they need a third party, its other code, if
	// there is any, does not.
	testModule bool
}

// places has a line for every folder with Go files. A line may stand here before its folder exists. Arrows point one way:
//
//	cmd, bench → shop → adapters → httponce, the stores → root → fingerprint
//
// There is no arrow from one store to another, except to the code that the database/sql stores share.
var places = map[string]place{
	"":            {imports: "fingerprint"},
	"fingerprint": {},
	"httponce":    {imports: ". fingerprint"},
	"rpconce":     {imports: ". httponce"},
	"conform":     {},
	"onceclient":  {},

	"memstore":    {imports: ". fingerprint"},
	"sqlstore":    {imports: ". fingerprint internal/migration"},
	"mysqlstore":  {imports: ". fingerprint internal/migration sqlstore"},
	"pgsqlstore":  {imports: ". fingerprint internal/migration internal/postgres sqlstore"},
	"pgxstore":    {imports: ". fingerprint internal/migration internal/postgres"},
	"sqlitestore": {imports: ". fingerprint internal/migration sqlstore"},

	"redisfront": {imports: ". fingerprint"},

	"adapters/chi":         {imports: ". httponce sqlitestore sqlstore", testModule: true},
	"adapters/connectonce": {imports: ". rpconce"},
	"adapters/echoonce":    {imports: ". httponce"},
	"adapters/fiberonce":   {imports: ". httponce"},
	"adapters/ginonce":     {imports: ". httponce"},
	"adapters/otelonce":    {imports: "."},
	"adapters/promonce":    {imports: "."},
	"adapters/grpconce":    {imports: ". rpconce"},

	"docs/examples": {imports: ". httponce sqlitestore sqlstore", testModule: true},

	"storetest": {imports: ". fingerprint"},
	"oncetest":  {},

	"shop":         {imports: ". fingerprint httponce internal/migration mysqlstore pgxstore sqlitestore sqlstore"},
	"shop/proofs":  {imports: ". fingerprint httponce mysqlstore pgxstore shop sqlitestore sqlstore"},
	"cmd/onceward": {imports: "*"},
	"bench":        {imports: "*"},
	"bench/gates":  {imports: "*"},
	"bench/peers":  {imports: "*"},

	"internal/arch":        {},
	"internal/conformtest": {imports: ". httponce rpconce memstore conform internal/features"},
	"internal/features":    {imports: "conform storetest"},
	"internal/dbtest":      {},
	"internal/demofull":    {imports: "internal/dbtest"},
	"internal/jcstest":     {imports: "fingerprint", testModule: true},
	"internal/migration":   {},
	"internal/openapitest": {imports: "shop", testModule: true},
	"internal/pgsqltest":   {imports: ". pgsqlstore pgxstore sqlstore internal/postgres", testModule: true},
	"internal/postgres":    {imports: ". internal/migration"}, // the one table of both stores on PostgreSQL
}

// testsImport are the folders that test files may import besides those of their folder's line.
var testsImport = []string{
	"storetest", "oncetest", "memstore", "conform", "internal/dbtest", "internal/conformtest", "internal/features",
}

// TestImports fails on an import arrow that places does not allow, and on a folder that has no line there.
func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		if _, ok := places[s.folder]; !ok {
			t.Errorf("%s: folder %q has no line in places: say what it may import", s.path, s.folder)
			continue
		}
		for _, target := range s.projectImports() {
			if !mayImport(s.folder, target, s.test) {
				t.Errorf("%s imports %q; its folder may import only %q", s.path, target, places[s.folder].imports)
			}
		}
	}
}

// mayImport reports whether a file in folder may import the target folder.
func mayImport(folder, target string, test bool) bool {
	if test && (target == folder || slices.Contains(testsImport, target)) {
		return true
	}
	allowed := places[folder].imports
	return allowed == "*" || slices.Contains(strings.Fields(allowed), path.Clean(target))
}

func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		folder, target string
		test, want     bool
	}{
		{"", "fingerprint", false, true},
		{"fingerprint", "", false, false},
		{"fingerprint", "", true, false},
		{"", "memstore", false, false},
		{"", "memstore", true, true},
		{"", "", true, true},
		{"memstore", "", false, true},
		{"pgxstore", "sqlstore", false, false},
		{"pgxstore", "internal/dbtest", false, false},
		{"pgxstore", "internal/dbtest", true, true},
		{"pgxstore", "sqlitestore", true, false},
		{"bench", "shop", false, true},
		{"shop", "bench", true, false},
	} {
		if got := mayImport(c.folder, c.target, c.test); got != c.want {
			t.Errorf("%q → %q (test file: %v): got %v, want %v", c.folder, c.target, c.test, got, c.want)
		}
	}
}
