package examples

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

// service is a service on an SQLite file, as the examples use it. The engine remembers nothing, so that they show what the
// database does; yours remembers, unless you say so too.
type service struct {
	store  onceward.Store[sqlstore.Tx]
	engine *onceward.Engine[sqlstore.Tx]
	door   *httponce.Door[sqlstore.Tx]
	db     *sql.DB // for what is written without a record, and for reads; never in a work, which has the file's only lock for writing
	mux    *http.ServeMux
	stop   func()
}

func start(schema string) *service {
	folder := must(os.MkdirTemp("", "onceward-example"))
	s := open(filepath.Join(folder, "service.db"), schema)
	closeAll := s.stop
	s.stop = func() { closeAll(); _ = os.RemoveAll(folder) }
	return s
}

func open(path, schema string) *service {
	ctx := context.Background()
	store := must(sqlitestore.Open(ctx, path, sqlitestore.Options{}))
	must(0, store.Migrate(ctx))
	s := &service{
		store:  store,
		engine: must(onceward.New(onceward.Store[sqlstore.Tx](store), onceward.Options{MemoryBytesMax: -1, FailUntouched: true})), // as in your tests
		db:     must(sql.Open("sqlite", must(sqlitestore.Source(path)))),
		mux:    http.NewServeMux(),
	}
	must(s.db.ExecContext(ctx, schema))
	s.door = must(httponce.New(s.engine, httponce.Options{Scope: caller}))
	s.stop = func() { _, _ = s.db.Close(), store.Close() }
	return s
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// caller stands for your authentication: the user who asks is the bearer token.
func caller(r *http.Request) (onceward.Scope, error) {
	user, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return onceward.Scope{}, errors.New("no token")
	}
	return onceward.Scope{Tenant: "acme", Principal: user}, nil
}

// reply answers where there is no door.
func reply(w http.ResponseWriter, r *http.Request, answer *httponce.Answer, err error) {
	if err != nil && !errors.As(err, &answer) {
		answer = httponce.Refuse(http.StatusInternalServerError, httponce.Problem{Code: "internal", Detail: "It may be sent again."})
		slog.ErrorContext(r.Context(), "failed", "error", err)
	}
	answer.ServeHTTP(w, r)
}

var errWho = httponce.Refuse(http.StatusUnauthorized, httponce.Problem{Code: "unauthenticated"})

// send sends a request of alice's, such as "POST /orders", with header fields such as "Idempotency-Key: k", prints its answer
// on a line, and returns its body.
func (s *service) send(request, body string, fields ...string) string {
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer alice")
	for _, field := range fields {
		name, value, _ := strings.Cut(field, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r)
	answer := w.Result()
	text := strings.TrimSpace(string(must(io.ReadAll(answer.Body))))
	line := fmt.Sprint(answer.StatusCode)
	if code := codeOf.FindStringSubmatch(text); code != nil {
		line += " " + code[1]
	} else if text != "" {
		line += " " + secret.ReplaceAllString(text, `"token":"…"`)
	}
	if etag := answer.Header.Get("ETag"); etag != "" {
		line += " ETag: " + etag
	}
	if answer.Header.Get(httponce.HeaderReplayed) == "true" {
		line += " (replayed)"
	}
	fmt.Println(line)
	return text
}

var (
	codeOf = regexp.MustCompile(`"code":"(\w+)"`)
	secret = regexp.MustCompile(`"token":"\w+"`)
)

// rows prints how many rows a table has: the effects.
func (s *service) rows(table string) {
	var n int
	must(0, s.db.QueryRow("SELECT count(*) FROM "+table).Scan(&n))
	fmt.Println(table+":", n)
}
