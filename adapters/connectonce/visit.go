package connectonce

import (
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/rpconce"
)

// encoding is the form in which messages are compared and recorded.
var encoding = proto.MarshalOptions{Deterministic: true}

// message is m, whose type was checked when its handler was registered.
func message(m any) proto.Message { return m.(proto.Message) }

// visit is one call's passage through the door.
type visit[In, Out any] struct {
	request  *connect.Request[In]
	encoded  []byte // its message, for further attempts
	attempts int
	response *connect.Response[Out] // of the latest attempt, if it did not conclude
}

// attempt runs the handler, with a message that no attempt has had, and tells what is to be recorded.
func (v *visit[In, Out]) attempt(run func(*connect.Request[In]) (*connect.Response[Out], error)) (outcome onceward.Outcome, err error) {
	request := v.request
	if v.attempts++; v.attempts > 1 {
		again := *v.request
		again.Msg = new(In)
		if err := proto.Unmarshal(v.encoded, message(again.Msg)); err != nil {
			return outcome, err
		}
		request = &again
	}
	v.response, err = run(request)
	recorded, kind := proto.Message(nil), rpconce.KindMessage
	switch c := (*concluded)(nil); {
	case errors.As(err, &c):
		recorded, kind = c.status(), rpconce.KindStatus
	case err != nil:
		return outcome, err
	case v.response == nil:
		return outcome, connect.NewError(connect.CodeInternal, errors.New("the handler gave neither an answer nor an error"))
	default:
		recorded = message(v.response.Msg)
	}
	data, err := encoding.Marshal(recorded)
	return onceward.Outcome{Kind: kind, Data: data}, err
}

// answer is what the handler answered, or what is recorded of an earlier attempt.
func (v *visit[In, Out]) answer(result onceward.Result) (connect.AnyResponse, error) {
	if result.Outcome.Kind == rpconce.KindStatus {
		s := &status.Status{}
		if err := proto.Unmarshal(result.Outcome.Data, s); err != nil {
			return nil, unreadable(result, err)
		}
		final := errorOf(s)
		setFields(final.Meta(), result)
		return nil, final
	}
	response := v.response
	if result.Replayed {
		response = connect.NewResponse(new(Out))
		if err := proto.Unmarshal(result.Outcome.Data, message(response.Msg)); err != nil {
			return nil, unreadable(result, err)
		}
	}
	setFields(response.Header(), result)
	return response, nil
}

func setFields(header http.Header, result onceward.Result) {
	header.Set(rpconce.HeaderID, result.ID)
	if result.Replayed {
		header.Set(rpconce.HeaderReplayed, "true")
	}
}

func unreadable(result onceward.Result, err error) error {
	return connect.NewError(connect.CodeInternal, fmt.Errorf("connectonce: the record of %s cannot be read: %w", result.ID, err))
}

// concluded is a final error.
type concluded struct{ error }

// Unwrap gives the error that Connect answers with where no door has taken it.
func (c *concluded) Unwrap() error { return c.error }

// Conclude makes an error of a handler final: the work is committed, the error's code, message and details are recorded,
// and a retry gets the same. It is for a refusal that must stand, such as a declined payment. Err must not be nil.
func Conclude(err error) error { return &concluded{err} }

// status is what is recorded of the error.
func (c *concluded) status() *status.Status {
	s := &status.Status{Code: int32(connect.CodeOf(c.error)), Message: c.Error()}
	if e := (*connect.Error)(nil); errors.As(c.error, &e) {
		s.Message = e.Message()
		for _, detail := range e.Details() {
			s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + detail.Type(), Value: detail.Bytes()})
		}
	}
	return s
}

func errorOf(s *status.Status) *connect.Error {
	e := connect.NewError(connect.Code(s.Code), errors.New(s.Message))
	for _, detail := range s.Details {
		addDetail(e, detail)
	}
	return e
}

func addDetail(e *connect.Error, m proto.Message) {
	if detail, err := connect.NewErrorDetail(m); err == nil {
		e.AddDetail(detail)
	}
}

// translate makes Connect's error of the door's, and leaves the handler's as it is.
func translate(err error) error {
	e := (*rpconce.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	if own := (*connect.Error)(nil); errors.As(e.Err, &own) && (e.Code == rpconce.Unauthenticated || e.Code == rpconce.PermissionDenied) {
		return own // of Scope, or of Authorize
	}
	answer := connect.NewError(connect.Code(e.Code), errors.New(e.Message))
	info := &errdetails.ErrorInfo{Reason: e.Reason, Domain: rpconce.ErrorDomain}
	if e.ID != "" {
		info.Metadata = map[string]string{"id": e.ID}
	}
	addDetail(answer, info)
	if e.RetryAfter > 0 {
		addDetail(answer, &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	return answer
}
