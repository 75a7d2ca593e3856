package httponce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/onceward/onceward"
)

// JSON serves an operation whose input is the request's body as JSON. The input is decoded and validated before anything
// is claimed: an unknown member, two that differ in case only (encoding/json does not look at case), a wrong type, text
// after the input, or an error of its method Validate() error, if it has one, is answered with 400 and its text (or the
// *Answer that Validate's error is or wraps). An integer must be written as one: 2.0 has the meaning of 2, but encoding/json does not
// take it. The body is taken as JSON whatever its Content-Type says; a Content-Encoding is refused with 415. CallFrom(ctx)
// is the handler's Call.
//
// The handler's answer and error are treated as those of Handle; a nil answer is 204. An In of type struct{} takes a
// request without a body as well. JSON panics if the operation is not valid.
func JSON[In, Tx any](d *Door[Tx], op *onceward.Operation, h func(ctx context.Context, tx Tx, in In) (*Answer, error)) http.Handler {
	return jsonRoute(d, op, nil, h)
}

// JSONBy is JSON for an operation that the business identifies: by makes the key of the request and its input (see
// onceward.KeyOf), and no Idempotency-Key field is looked at. Validate has been asked before. An error of by is answered with
// 400 and its text, or with the *Answer that it is or wraps. JSONBy panics also if the operation has a Window.
func JSONBy[In, Tx any](d *Door[Tx], op *onceward.Operation, by func(r *http.Request, in In) (key string, err error),
	h func(ctx context.Context, tx Tx, in In) (*Answer, error),
) http.Handler {
	return jsonRoute(d, op, func(r *http.Request, in any) (string, error) { return by(r, in.(In)) }, h)
}

func jsonRoute[In, Tx any](d *Door[Tx], op *onceward.Operation, by func(r *http.Request, in any) (string, error),
	h func(ctx context.Context, tx Tx, in In) (*Answer, error),
) http.Handler {
	d.admit(op, by != nil)
	return &route[Tx]{
		door: d, operation: op, safe: http.HandlerFunc(noSafeMethod), decode: decoder[In](), by: by,
		run: func(tx Tx, v *visit, call *Call) (*reply, error) {
			in, err := v.take()
			if err != nil {
				return nil, err
			}
			answer, err := h(call.Request.Context(), tx, in.(In))
			if err != nil {
				return nil, err
			}
			if answer == nil {
				answer = &Answer{Status: http.StatusNoContent}
			}
			return answer.render(v.id)
		},
	}
}

// declare says that the body is JSON, which is what this operation takes, whatever type a client's library has put on it.
// A content coding is another matter: its bytes are no JSON.
func (v *visit) declare() error {
	if len(v.in.Header["Content-Encoding"]) > 0 {
		return bodyCoding.answer("")
	}
	v.ContentType = "application/json"
	return nil
}

func decoder[In any]() func(body []byte) (any, error) {
	names := namesOf(reflect.TypeFor[In]())
	return func(body []byte) (any, error) {
		var value In
		if err := decodeJSON(body, &value, names); err != nil {
			return nil, err
		}
		if err := validate(&value); err != nil {
			return nil, err
		}
		return value, nil
	}
}

func validate[In any](value *In) error {
	v, ok := any(value).(interface{ Validate() error })
	if !ok {
		v, ok = any(*value).(interface{ Validate() error })
	}
	if !ok {
		return nil
	}
	err := v.Validate()
	if err == nil || errors.As(err, new(*Answer)) {
		return err
	}
	return bodyInvalid.answer(sentence(err.Error()))
}

func decodeJSON[In any](body []byte, value *In, names map[string]bool) error {
	switch trimmed := bytes.TrimLeft(body, " \t\r\n"); {
	case len(trimmed) == 0 && reflect.TypeFor[In]() == reflect.TypeFor[struct{}]():
		return nil
	case len(trimmed) == 0:
		return bodyInvalid.answer("The body is empty. Send JSON.")
	case bytes.Equal(bytes.TrimRight(trimmed, " \t\r\n"), []byte("null")):
		return bodyInvalid.answer("The body is null. Send a value.")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(value); err != nil {
		return bodyInvalid.answer(faultOf(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return bodyInvalid.answer(fmt.Sprintf("The body has text after the JSON value, at byte %d.", d.InputOffset()))
	}
	if one, other := twins(body, names); one != "" {
		return bodyInvalid.answer(fmt.Sprintf("The members %.80q and %.80q differ in case only. Send one of them.", one, other))
	}
	return nil
}

// faultOf says what encoding/json did not like in the caller's terms. It repeats the names of members, no values.
func faultOf(err error) string {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		what, _, _ := strings.Cut(wrong.Value, " ")
		if what == "number" && isInteger(wrong.Type) {
			what = "one beyond its range or with a fraction or an exponent"
		}
		if wrong.Field == "" {
			return fmt.Sprintf("The body must be %s, not %s.", jsonName(wrong.Type), what)
		}
		return fmt.Sprintf("The member %q must be %s, not %s.", wrong.Field, jsonName(wrong.Type), what)
	case errors.As(err, &syntax):
		return fmt.Sprintf("The body is not JSON: an error at byte %d.", syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "The body is not JSON: it ends too early."
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Sprintf("The member %.80s is not known here.", name)
	}
	return sentence(err.Error()) // of the input's own UnmarshalJSON or UnmarshalText
}

// jsonName says what JSON value a Go type takes.
func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Pointer:
		return jsonName(t.Elem())
	}
	if isInteger(t) {
		return fmt.Sprintf("an integer of %d bits", t.Bits())
	}
	return "another value"
}

func isInteger(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr }

// sentence ends an error's text, which by custom has no full stop. It may begin with a member's name, and is left small.
func sentence(text string) string {
	if text == "" || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
