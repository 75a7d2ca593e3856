package httponce

import (
	"fmt"
	"net/http"
)

// Statuses are the answers to a key that cannot be served: the choices that APIs differ in. All else is fixed.
type Statuses struct {
	// Reused answers a key that stands for another meaning. Defaults to 422.
	Reused int
	// InFlight answers a duplicate of an operation that does not wait while the first attempt runs. Defaults to 409.
	InFlight int
	// InFlightAfterWait answers a duplicate that has waited for Operation.Wait. Defaults to 503.
	InFlightAfterWait int
	// ReusedCode is the code member of the problem. Defaults to "key_reused".
	ReusedCode string
	// InFlightCode is the code member of the problem, after a wait as well. Defaults to "in_flight".
	InFlightCode string
	// NotIssuedCode is the code member of the 404 problem of a key that is no token issued to the caller. Defaults to
	// "token_unknown".
	NotIssuedCode string
	// TokenExpiredCode is the code member of the 410 problem of a token that was not submitted in its time. Defaults to
	// "token_expired".
	TokenExpiredCode string
}

// Draft07 are the statuses of draft-ietf-httpapi-idempotency-key-header-07; a bounded wait ends in 503.
var Draft07 = Statuses{
	Reused:            http.StatusUnprocessableEntity,
	InFlight:          http.StatusConflict,
	InFlightAfterWait: http.StatusServiceUnavailable,
	ReusedCode:        "key_reused",
	InFlightCode:      "in_flight",
}

// Conflict409 answers every conflict with 409; a client tells them apart by the code.
var Conflict409 = Statuses{
	Reused:            http.StatusConflict,
	InFlight:          http.StatusConflict,
	InFlightAfterWait: http.StatusConflict,
	ReusedCode:        "key_reused",
	InFlightCode:      "in_flight",
}

func (s Statuses) withDefaults() Statuses {
	return Statuses{
		Reused:            orDefault(s.Reused, http.StatusUnprocessableEntity),
		InFlight:          orDefault(s.InFlight, http.StatusConflict),
		InFlightAfterWait: orDefault(s.InFlightAfterWait, http.StatusServiceUnavailable),
		ReusedCode:        orDefault(s.ReusedCode, "key_reused"),
		InFlightCode:      orDefault(s.InFlightCode, "in_flight"),
		NotIssuedCode:     orDefault(s.NotIssuedCode, "token_unknown"),
		TokenExpiredCode:  orDefault(s.TokenExpiredCode, "token_expired"),
	}
}

func (s Statuses) validate() error {
	for _, status := range [...]int{s.Reused, s.InFlight, s.InFlightAfterWait} {
		if status < 400 || status > 599 {
			return fmt.Errorf("httponce: Options.Statuses: %d is no status for a refusal", status)
		}
	}
	return nil
}
