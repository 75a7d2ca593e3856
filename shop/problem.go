package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/httponce"
)

// errNumberTaken: a unique value was taken that is not the request's own, which does not happen (see numberOf).
var errNumberTaken = errors.New("shop: the order's number is taken")

// errCheckoutOrdered says nothing about the order that stands: it may be another person's of the tenant.
var errCheckoutOrdered = refuse(http.StatusConflict, "checkout_already_ordered", "The checkout is ordered already",
	"Another request has placed the order of this checkoutRef; nothing was ordered now. Look at GET /orders, or send the key that placed it.")

// refuse is a problem that rolls back and is not recorded.
func refuse(status int, code, title, detail string) *httponce.Answer {
	return httponce.Refuse(status, httponce.Problem{
		Type:   httponce.ProblemBase + strings.ReplaceAll(code, "_", "-"),
		Title:  title,
		Detail: detail,
		Code:   code,
	})
}

// fail answers an error outside of the door. A read fails for want of its database only.
func (s *service[Tx]) fail(w http.ResponseWriter, r *http.Request, err error) {
	answer := (*httponce.Answer)(nil)
	if !errors.As(err, &answer) {
		s.report(r, err)
		answer = refuse(http.StatusServiceUnavailable, "unavailable", "The service is unavailable",
			"The orders cannot be read now. Send the request again.")
		answer.Header = http.Header{"Retry-After": {"1"}}
	}
	send(w, answer)
}

// send writes a refusal outside of the door.
func send(w http.ResponseWriter, refusal *httponce.Answer) {
	for name, values := range refusal.Header {
		w.Header()[name] = values
	}
	problem := refusal.Body.(httponce.Problem) // refuse made it
	problem.Status = refusal.Status
	writeJSON(w, refusal.Status, "application/problem+json", problem)
}

func writeJSON(w http.ResponseWriter, status int, mediaType string, body any) {
	data, _ := json.Marshal(body) // of this package's own types, which have a JSON form
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the caller may have gone
}

// recovered answers a panic with a 500 problem. The door answers those of its own handlers.
func (s *service[Tx]) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			if value == http.ErrAbortHandler {
				panic(value)
			}
			s.report(r, &httponce.PanicError{Value: value})
			send(w, refuse(http.StatusInternalServerError, "internal", "The request failed", "The service failed. Send the request again."))
		}()
		next.ServeHTTP(w, r)
	})
}

// report logs an error without a word of what the caller sent: by its type, and by PostgreSQL's code.
func (s *service[Tx]) report(r *http.Request, err error) {
	attrs := []any{slog.String("route", r.Pattern), slog.String("type", fmt.Sprintf("%T", err))}
	if server := (*pgconn.PgError)(nil); errors.As(err, &server) {
		attrs = append(attrs, slog.String("sqlstate", server.Code))
	}
	if panicked := (*httponce.PanicError)(nil); errors.As(err, &panicked) {
		attrs = append(attrs, slog.String("panic", panicked.Error()), slog.String("stack", string(panicked.Stack)))
	}
	if engine := (*onceward.Error)(nil); errors.As(err, &engine) {
		attrs = append(attrs, slog.String("id", engine.ID))
	}
	s.options.Logger.ErrorContext(r.Context(), "a request failed", attrs...)
}
