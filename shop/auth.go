package shop

import (
	"context"
	"crypto/sha256"
	"net/http"
	"strings"

	"github.com/onceward/onceward"
)

// errUnauthenticated is one answer for every way of not being known.
var errUnauthenticated = func() error {
	answer := refuse(http.StatusUnauthorized, "unauthenticated", "The caller is not known",
		"Send a valid token as Authorization: Bearer and the token; the request may be sent again as it was.")
	answer.Header = http.Header{"Www-Authenticate": {`Bearer realm="onceward shop"`}}
	return answer
}()

// Callers tells whom a bearer token stands for.
type Callers func(token string) (caller onceward.Scope, ok bool)

var demoCallers = map[string]onceward.Scope{
	"demo-acme-alice":   {Tenant: "acme", Principal: "alice"},
	"demo-acme-bob":     {Tenant: "acme", Principal: "bob"},
	"demo-globex-carol": {Tenant: "globex", Principal: "carol"},
}

// DemoCallers are the demo's three: two people of one tenant, and one of another. Their tokens are public.
func DemoCallers() Callers { return Tokens(demoCallers) }

// Tokens makes Callers of a fixed table. Tokens are looked up by their digests, so that the time of a look-up tells
// nothing about a token.
func Tokens(table map[string]onceward.Scope) Callers {
	callers := make(map[[sha256.Size]byte]onceward.Scope, len(table))
	for token, caller := range table {
		callers[sha256.Sum256([]byte(token))] = caller
	}
	return func(token string) (onceward.Scope, bool) {
		caller, ok := callers[sha256.Sum256([]byte(token))]
		return caller, ok
	}
}

// scopeOf authenticates a request by its bearer token (RFC 6750 section 2.1). Nothing else of a request says who asks.
func (c Callers) scopeOf(r *http.Request) (onceward.Scope, error) {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return onceward.Scope{}, errUnauthenticated
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	caller, ok := c(strings.TrimSpace(token))
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return onceward.Scope{}, errUnauthenticated
	}
	return caller, nil
}

// authenticated serves a read for a caller who is known.
func (s *service[Tx]) authenticated(read func(w http.ResponseWriter, r *http.Request, caller onceward.Scope) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), readTimeout)
		defer cancel()
		caller, err := s.options.Callers.scopeOf(r)
		if err == nil {
			err = read(w, r.WithContext(ctx), caller)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}
