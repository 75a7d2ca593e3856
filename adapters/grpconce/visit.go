package grpconce

import (
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/rpconce"
)

// encoding is the form in which messages are compared and recorded.
var encoding = proto.MarshalOptions{Deterministic: true}

// visit is one call's passage through the door.
type visit[In, Out proto.Message] struct {
	in       In
	encoded  []byte // in, for further attempts
	attempts int
	out      Out   // of the latest attempt
	err      error // that it concluded with
}

// attempt runs the handler, with a message that no attempt has had, and tells what is to be recorded.
func (v *visit[In, Out]) attempt(run func(in In) (Out, error)) (outcome onceward.Outcome, err error) {
	in := v.in
	if v.attempts++; v.attempts > 1 {
		if in, err = decode[In](v.encoded); err != nil {
			return outcome, err
		}
	}
	v.out, v.err = run(in)
	message, kind := proto.Message(v.out), rpconce.KindMessage
	if c := (*concluded)(nil); errors.As(v.err, &c) {
		v.err = c.Err()
		message, kind = c.Proto(), rpconce.KindStatus
	} else if v.err != nil {
		return outcome, v.err
	}
	data, err := encoding.Marshal(message)
	return onceward.Outcome{Kind: kind, Data: data}, err
}

// answer is what the handler answered, or what is recorded of an earlier attempt.
func (v *visit[In, Out]) answer(result onceward.Result) (any, error) {
	switch {
	case !result.Replayed && v.err != nil:
		return nil, v.err
	case !result.Replayed:
		return v.out, nil
	case result.Outcome.Kind == rpconce.KindStatus:
		s := &spb.Status{}
		if err := proto.Unmarshal(result.Outcome.Data, s); err != nil {
			return nil, unreadable(result, err)
		}
		return nil, status.ErrorProto(s)
	}
	out, err := decode[Out](result.Outcome.Data)
	if err != nil {
		return nil, unreadable(result, err)
	}
	return out, nil
}

func unreadable(result onceward.Result, err error) error {
	return status.Error(codes.Internal, fmt.Sprintf("grpconce: the record of %s cannot be read: %v", result.ID, err))
}

func decode[M proto.Message](data []byte) (M, error) {
	var none M
	message := none.ProtoReflect().New().Interface().(M)
	return message, proto.Unmarshal(data, message)
}

// concluded is a final error.
type concluded struct{ *status.Status }

// Error is the status's.
func (c *concluded) Error() string { return c.Err().Error() }

// GRPCStatus is what gRPC answers with where no door has taken the error.
func (c *concluded) GRPCStatus() *status.Status { return c.Status }

// Conclude makes an error of a handler final: the work is committed, the error's status with its details is recorded, and
// a retry gets the same. It is for a refusal that must stand, such as a declined payment. Err must not be nil.
func Conclude(err error) error { return &concluded{status.Convert(err)} }

// translate makes a status of the door's error, and leaves the handler's as it is.
func translate(err error) error {
	e := (*rpconce.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	if own, ok := status.FromError(e.Err); ok && (e.Code == rpconce.Unauthenticated || e.Code == rpconce.PermissionDenied) {
		return own.Err() // of Scope, or of Authorize
	}
	info := &errdetails.ErrorInfo{Reason: e.Reason, Domain: rpconce.ErrorDomain}
	if e.ID != "" {
		info.Metadata = map[string]string{"id": e.ID}
	}
	s, _ := status.New(codes.Code(e.Code), e.Message).WithDetails(info) // fails for the code OK only
	if e.RetryAfter > 0 {
		s, _ = s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)})
	}
	return s.Err()
}
