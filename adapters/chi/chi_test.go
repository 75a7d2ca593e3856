package chi_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	_ "modernc.org/sqlite" // the driver, for the tests' own eyes

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/conform"
	"github.com/onceward/onceward/httponce"
	"github.com/onceward/onceward/internal/conformtest"
	"github.com/onceward/onceward/sqlitestore"
	"github.com/onceward/onceward/sqlstore"
)

func cors(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("Vary", "Origin")
		next.ServeHTTP(w, r)
	})
}

// serve serves the routes of the suite on chi's router, some of them by a sub-router.
func serve[Tx any](t *testing.T, s *conformtest.Service[Tx]) string {
	handle := func(op *onceward.Operation) http.Handler {
		return s.Door.Handle(op, func(w http.ResponseWriter, r *http.Request, tx Tx) error {
			var in conform.Order
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				return err
			}
			return write(w, s.Place(r.Context(), tx, in))
		})
	}
	router := chi.NewRouter()
	router.Use(middleware.RequestID, cors)
	router.Handle("/patient/orders", handle(conformtest.Patient))
	router.Route("/orders", func(r chi.Router) {
		r.Handle("/", handle(conformtest.Orders))
		r.Handle("/{id}", handle(conformtest.Update))
	})
	router.Handle(httponce.ContractPath, httponce.Contract(s.Door))
	server := httptest.NewServer(router)
	t.Cleanup(server.Close)
	return server.URL
}

func write(w http.ResponseWriter, answer conform.Answer) error {
	if answer.Final {
		return httponce.Conclude(answer.Status, answer.Body)
	}
	if answer.Status == 0 {
		return answer.Err
	}
	for name, value := range answer.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(answer.Status)
	if _, err := w.Write(answer.Body); err != nil {
		return err
	}
	return answer.Err
}

// failed is the service's table of errors.
func failed(err error) *httponce.Answer {
	if errors.Is(err, conform.ErrFailed) {
		return httponce.Refuse(http.StatusTeapot, []byte("failed"))
	}
	return nil
}

func TestConform(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{Failure: failed})
	conformtest.Run(t, "chi", s.Target(serve(t, s)))
}

// TestConformOnSQLite runs the suite on a store that is a file.
func TestConformOnSQLite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orders.db")
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	source, err := sqlitestore.Source(path)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE effects (reference TEXT) STRICT`); err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := conformtest.On(t, store, httponce.Options{Failure: failed}, func(ctx context.Context, tx sqlstore.Tx, reference string) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO effects (reference) VALUES (?)`, reference)
		return err
	})
	target := s.Target(serve(t, s))
	target.Effects = func(ctx context.Context, reference string) (n int, err error) {
		err = db.QueryRowContext(ctx, `SELECT count(*) FROM effects WHERE reference = ?`, reference).Scan(&n)
		return n, err
	}
	conformtest.Play(t, target)
}

// Two places in the path are two actions, whatever router has read them.
func TestPathValuesCount(t *testing.T) {
	t.Parallel()
	s := conformtest.New(t, httponce.Options{})
	url := serve(t, s)
	statuses := map[string]int{}
	for _, id := range []string{"1", "1", "2"} {
		r, err := http.NewRequest(http.MethodPut, url+"/orders/"+id, strings.NewReader(`{"reference":"row"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set(httponce.HeaderKey, "k")
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		statuses[id] = answer.StatusCode
	}
	if statuses["1"] >= 300 || statuses["2"] != http.StatusUnprocessableEntity {
		t.Errorf("the answers are %v, want 422 for the other order", statuses)
	}
	if n, _ := s.Effects(t.Context(), "row"); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}
