package sqlitestore

import (
	"fmt"
	"strings"

	"modernc.org/sqlite"

	"github.com/onceward/onceward"
)

// savepointPrefix begins the names of the store's savepoints, for Join.
const savepointPrefix = "onceward_"

// pragmas are those that a work may use: they read, or they end with the transaction. All others are refused: they can
// weaken the file's durability or the schema's protection, or stay on the connection for the next work. True: also with
// an argument.
var pragmas = map[string]bool{
	"table_info": true, "table_xinfo": true, "table_list": true,
	"index_list": true, "index_info": true, "index_xinfo": true,
	"foreign_key_list": true, "foreign_key_check": true, "defer_foreign_keys": true,
	"integrity_check": true, "quick_check": true,
	"user_version": true, "application_id": true, // in the file's header, within the transaction
	"database_list": false, "collation_list": false, "function_list": false, "compile_options": false,
	"page_count": false, "page_size": false, "freelist_count": false, "data_version": false, "schema_version": false,
	"encoding": false, "foreign_keys": false, "journal_mode": false, "synchronous": false,
}

// denial is what a work may not do, and the sentinel that its error matches, if any.
type denial struct {
	what     string
	sentinel error
}

func (d *denial) wrap(err error) error {
	if d.sentinel != nil {
		return fmt.Errorf("%w: a work may not %s: %w", d.sentinel, d.what, err)
	}
	return fmt.Errorf("sqlitestore: a work may not %s: %w", d.what, err)
}

// authorize is asked while a statement is compiled. It refuses a work's statements that would end the transaction or
// leave something on the connection.
func (w *writer) authorize(action sqlite.AuthorizerActionCode, arg1, arg2, _, _ string) sqlite.AuthorizerReturnCode {
	if !w.working.Load() {
		return sqlite.AuthorizerOK
	}
	var refused denial
	switch action {
	case sqlite.AuthTransaction:
		refused = denial{"send " + arg1, onceward.ErrTxEnded} // BEGIN, COMMIT, ROLLBACK
	case sqlite.AuthSavepoint:
		if !strings.HasPrefix(strings.ToLower(arg2), savepointPrefix) {
			return sqlite.AuthorizerOK
		}
		refused = denial{"use the store's savepoints", onceward.ErrTxEnded}
	case sqlite.AuthAttach, sqlite.AuthDetach:
		refused.what = "attach or detach databases"
	case sqlite.AuthCreateTempTable, sqlite.AuthCreateTempView, sqlite.AuthCreateTempTrigger, sqlite.AuthCreateTempIndex:
		refused.what = "make temporary objects, which would stay for the next work"
	case sqlite.AuthPragma:
		if argument, known := pragmas[strings.ToLower(arg1)]; known && (argument || arg2 == "") {
			return sqlite.AuthorizerOK
		}
		refused.what = "use PRAGMA " + arg1
	default:
		return sqlite.AuthorizerOK
	}
	w.denied.Store(&refused)
	return sqlite.AuthorizerDeny
}
