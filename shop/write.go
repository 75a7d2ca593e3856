package shop

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/fingerprint"
	"github.com/onceward/onceward/httponce"
)

// writeTimeout bounds a write without a record, however often its transaction is tried.
const writeTimeout = 10 * time.Second

// plain serves a write that needs no record, since the state that it leaves says that it was done. Who asks and whether he
// may are asked as they are for operation's commands. Work may run more than once, each time in a transaction of its own; one
// that fails is rolled back.
func plain[In, Tx any](s *service[Tx], operation *onceward.Operation,
	work func(ctx context.Context, tx Tx, r *http.Request, caller onceward.Scope, in In) (*httponce.Answer, error),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, err := s.write(r, operation, new(In), func(ctx context.Context, tx Tx, caller onceward.Scope, in any) (*httponce.Answer, error) {
			return work(ctx, tx, r, caller, *in.(*In))
		})
		if err != nil {
			s.fail(w, r, err)
			return
		}
		answer.ServeHTTP(w, r)
	})
}

// write is plain for whatever the input is.
func (s *service[Tx]) write(r *http.Request, operation *onceward.Operation, in any,
	work func(ctx context.Context, tx Tx, caller onceward.Scope, in any) (*httponce.Answer, error),
) (answer *httponce.Answer, _ error) {
	ctx, cancel := context.WithTimeout(r.Context(), writeTimeout)
	defer cancel()
	caller, err := s.options.Callers.scopeOf(r)
	if err == nil {
		err = decode(r, in)
	}
	if err == nil && s.options.Authorize != nil {
		err = s.permit(r, operation.For(caller, "", nil))
	}
	if err != nil {
		return nil, err
	}
	err = s.db.Transact(ctx, func(tx Tx) (err error) {
		answer, err = work(ctx, tx, caller, in)
		return err
	})
	return answer, err
}

var errForbidden = refuse(http.StatusForbidden, "forbidden", "The caller may not do this", "Ask for the permission.")

// unambiguous refuses what the doors refuse: a member that comes twice, bad UTF-8, endless depth.
func unambiguous(data []byte) error {
	meaning, err := fingerprint.Value(json.RawMessage(data))
	if err == nil {
		_, err = meaning.Canonical(meaning.Current())
	}
	if fault := (*fingerprint.Error)(nil); errors.As(err, &fault) {
		return errors.New(fault.Fault)
	}
	return err
}

// empty is the body of a request that says everything by its path.
type empty struct{}

// UnmarshalJSON refuses members.
func (*empty) UnmarshalJSON(data []byte) error {
	body, err := readObject(data)
	if err != nil {
		return err
	}
	return body.err()
}

// permit asks Options.Authorize.
func (s *service[Tx]) permit(r *http.Request, command onceward.Command) error {
	err := s.options.Authorize(r, command)
	if err == nil || errors.As(err, new(*httponce.Answer)) {
		return err
	}
	return errForbidden
}

// decode reads a body, which names by itself what is wrong with it. One that is not there is an empty object.
func decode(r *http.Request, in any) error {
	data, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, bodyBytesMax))
	if len(data) == 0 {
		data = []byte(`{}`)
	}
	if bound := (*http.MaxBytesError)(nil); errors.As(err, &bound) {
		return refuse(http.StatusRequestEntityTooLarge, "body_too_large", "The body is too large", "Send a smaller body.")
	}
	if err == nil {
		err = unambiguous(data)
	}
	if err == nil {
		err = json.Unmarshal(data, in)
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "body_invalid", "The request is not valid", "Correct the body: "+err.Error()+".")
	}
	return nil
}
