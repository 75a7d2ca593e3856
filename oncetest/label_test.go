package oncetest

import (
	"slices"
	"strings"
	"testing"
)

func TestLabel(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		`INSERT INTO "orders" (id) VALUES ('from secrets')`:                    "INSERT INTO orders",
		"insert  into\n shop.orders select 1":                                  "INSERT INTO shop.orders",
		"INSERT IGNORE INTO `orders` VALUES (?)":                               "INSERT IGNORE INTO orders",
		`UPDATE ONLY orders SET note = 'delete from x'`:                        "UPDATE orders",
		`-- delete from x` + "\nDELETE FROM orders":                            "DELETE FROM orders",
		`WITH gone AS (DELETE FROM orders RETURNING id) SELECT * FROM gone`:    "DELETE FROM orders",
		`WITH seen AS (SELECT 1) SELECT * FROM seen`:                           "WITH seen",
		`SELECT extract(epoch FROM now()), (SELECT 1 FROM deep) FROM orders o`: "SELECT orders",
		`select pg_advisory_xact_lock($1)`:                                     "SELECT",
		`start transaction`:                                                    "BEGIN",
		`end`:                                                                  "COMMIT",
		`set lock_timeout from current`:                                        "SET",
		`/* c */ commit`:                                                       "COMMIT",
		`SELECT $body$ from secrets $body$`:                                    "SELECT",
		`SELECT 'it''s from secrets' || E'\' from secrets'`:                    "SELECT",
		``: "a statement",
		`INSERT INTO ` + strings.Repeat("x", 100) + ` VALUES (1)`:         "INSERT INTO " + strings.Repeat("x", 64),
		`SELECT '` + strings.Repeat(`x`, textBytesMax) + ` from secrets'`: "SELECT",
		`SELECT 'cut off from secrets`:                                    "SELECT",
	} {
		if got := label(statement); got != want {
			t.Errorf("%s: %q, want %q", statement, got, want)
		}
	}
}

func TestLabelsOfOneText(t *testing.T) {
	t.Parallel()
	got := labels(`begin; insert into a values ('x;y'); commit;`)
	if want := []string{"BEGIN", "INSERT INTO a", "COMMIT"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := labels(" -- ping;\n ; "); len(got) != 0 {
		t.Errorf("nothing is called %q", got)
	}
	if got := labels(strings.Repeat("select 1;", 100)); len(got) != labelsMax+1 {
		t.Errorf("%d names", len(got))
	}
}

// FuzzLabel: a name is never empty and has nothing of a quoted value.
func FuzzLabel(f *testing.F) {
	f.Add("INSERT INTO orders VALUES (", "from secrets")
	f.Fuzz(func(t *testing.T, statement, value string) {
		const mark = "zzsecretzz"
		unquoted := strings.NewReplacer("'", "", "$", "", "-", "", "/", "", mark, "")
		text := unquoted.Replace(statement) + " '" + strings.ReplaceAll(value, "'", "''") + mark + "'"
		for _, name := range append(labels(text), label(text)) {
			if name == "" || strings.Contains(name, mark) {
				t.Errorf("%q is called %q", text, name)
			}
		}
	})
}
