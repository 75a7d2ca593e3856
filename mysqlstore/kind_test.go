package mysqlstore

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/onceward/onceward/internal/dbtest"
)

// statements are what a work may send, and what each of them can do to its transaction.
var statements = map[kind][]string{
	reads: {
		"SELECT 1", "select * from one", "  \n\tSELECT 1;", "(SELECT 1) UNION (SELECT 2)", "-- note\nSELECT 1", "--\nSELECT 1", "# note\nSELECT 1",
		"/* note */ SELECT 1", "/**/SELECT 1", "/***/SELECT 1", "/* a */ -- b\n # c\n SELECT 1", "/*x*//*y*/SELECT 1", "/* M */SELECT 1",
		"SELECT n FROM one WHERE n = 1 FOR UPDATE", "WITH w AS (SELECT 1) SELECT * FROM w", "VALUES (1)", "SHOW TABLES", "DESC one", "EXPLAIN SELECT 1",
		"SAVEPOINT mine", "RELEASE SAVEPOINT mine", "ROLLBACK TO mine", "ROLLBACK WORK TO SAVEPOINT mine", "rollback\nto mine",
	},
	writes: {
		"INSERT INTO one VALUES (2)", "update one set n = 3", "DELETE FROM one", "REPLACE INTO one VALUES (4)", "/* note */insert into one values (5)",
		"INSERT INTO one VALUES (6) ON DUPLICATE KEY UPDATE n = 7;\n",
	},
	mayEnd: {
		"CALL ending()", "CALL harmless()", "DO 1", "SET @x = 1", "EXECUTE IMMEDIATE 'COMMIT'", "SELECT 1; COMMIT", "SELECT ';'",
		"/*!COMMIT */", "/*M! COMMIT */", "SELECT 1 /*! + 1 */", "INSERT INTO one VALUES (8); ROLLBACK; INSERT INTO one VALUES (9)",
		"CREATE TEMPORARY TABLE t (n int)", "DROP TEMPORARY TABLE IF EXISTS t", "CREATE OR REPLACE TEMPORARY TABLE t (n int)", "ANALYZE FORMAT=JSON SELECT 1",
		"SET PASSWORD = PASSWORD('s3cret')", "USE test",
	},
	ends: {
		"COMMIT", "commit work", "Commit And Chain", "ROLLBACK", "rollback;", "BEGIN", "START TRANSACTION", "/* note */ COMMIT", "-- note\nROLLBACK",
		"SET autocommit = 1", "SET @@autocommit=0", "SET SESSION AUTOCOMMIT = ON", "BEGIN NOT ATOMIC COMMIT; END",
		"CREATE TABLE other (n int)", "CREATE TABLE IF NOT EXISTS one (n int)", "CREATE INDEX i ON one (n)", "DROP TABLE IF EXISTS other", "ALTER TABLE one ADD COLUMN m int",
		"TRUNCATE one", "RENAME TABLE one TO two", "LOCK TABLES one WRITE", "UNLOCK TABLES", "ANALYZE TABLE one", "OPTIMIZE TABLE one", "CHECK TABLE one", "REPAIR TABLE one",
		"FLUSH TABLES", "XA START 'x'",
	},
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for want, texts := range statements {
		for _, text := range texts {
			if got, word := kindOf(text); got != want {
				t.Errorf("%q is of kind %d (%s), want %d", text, got, word, want)
			}
		}
	}
	for text, want := range map[string]bool{
		"SELECT 1": false, "SELECT n FROM one FOR UPDATE": true, "SELECT n FROM one for\n share": true, "SELECT n FROM one LOCK IN SHARE MODE": true,
		"INSERT INTO one VALUES (1) RETURNING n": true, "SELECT 'for updates'": false, "CALL harmless()": true,
	} {
		if mayLock(text) != want {
			t.Errorf("%q may lock: %t", text, !want)
		}
	}
}

// TestKindsAreTrue asks the server: no statement that is said to leave the transaction alone ends it.
func TestKindsAreTrue(t *testing.T) {
	t.Parallel()
	config, err := ParseURL(dbtest.MariaDBDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	send := func(text string) error {
		_, err := c.ExecContext(t.Context(), text)
		return err
	}
	if err := errors.Join(
		send("CREATE PROCEDURE ending() COMMIT"), send("CREATE PROCEDURE harmless() DO 1"),
	); err != nil {
		t.Fatal(err)
	}
	seen := map[kind]int{}
	for kind, texts := range statements {
		for _, text := range texts {
			if strings.Contains(text, "PASSWORD") || strings.HasPrefix(text, "USE") {
				continue // they are about more than this test's database
			}
			if !endsTransaction(t, c, send, text) {
				continue
			}
			seen[kind]++
			if kind == reads || kind == writes {
				t.Errorf("%q ends the transaction", text)
			}
		}
	}
	if seen[mayEnd] < 4 || seen[ends] < 20 {
		t.Errorf("the end was seen too seldom: %v", seen)
	}
}

// endsTransaction sends text in a transaction of its own. Whether it succeeds does not matter.
func endsTransaction(t *testing.T, c *sql.Conn, send func(string) error, text string) bool {
	t.Helper()
	if err := errors.Join(
		send("DROP TABLE IF EXISTS one, two, other"), send("CREATE TABLE one (n int PRIMARY KEY) ENGINE = InnoDB"),
		send("INSERT INTO one VALUES (1)"), send("START TRANSACTION"), send("SAVEPOINT mine"), send("SAVEPOINT ours"),
	); err != nil {
		t.Fatal(err)
	}
	_ = send(text)
	var within bool
	if err := c.QueryRowContext(t.Context(), "SELECT @@in_transaction").Scan(&within); err != nil {
		t.Fatal(err)
	}
	if takesOurs := strings.Contains(text, "mine"); within && !takesOurs {
		within = numberOf(send("RELEASE SAVEPOINT ours")) != codeNoSavepoint
	}
	if err := errors.Join(send("ROLLBACK"), send("UNLOCK TABLES"), send("SET autocommit = 1"), send("DROP TEMPORARY TABLE IF EXISTS t")); err != nil {
		t.Fatalf("after %q: %v", text, err)
	}
	return !within
}

func FuzzKindOf(f *testing.F) {
	for _, texts := range statements {
		for _, text := range texts {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind, word := kindOf(text)
		if strings.TrimSpace(text) != text || strings.Contains(text, "*/") {
			return
		}
		// What is blank before a statement changes nothing.
		for _, before := range []string{" ", "\n", "/* note */", "-- note\n", "# note\n"} {
			if again, same := kindOf(before + text); again != kind || same != word {
				t.Errorf("%q is of kind %d (%s), behind %q of kind %d (%s)", text, kind, word, before, again, same)
			}
		}
		// Another statement behind it is not overlooked.
		if again, _ := kindOf(text + "; COMMIT"); again < mayEnd {
			t.Errorf("%q with a COMMIT behind it is of kind %d", text, again)
		}
	})
}
