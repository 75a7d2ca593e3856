package shop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// numberBytesMax bounds a number's text and its exponent: enough for every way that a person writes an integer.
const numberBytesMax = 400

// nameBytesMax is how much of an unknown member's name a refusal repeats.
const nameBytesMax = 40

// object is a JSON object whose members are taken one by one. encoding/json alone would take "SKU" for "sku", a missing
// member for zero, and 2.0 for no integer.
type object struct {
	left   map[string]json.RawMessage // members not yet taken
	faults []string
}

func readObject(data []byte) (*object, error) {
	var left map[string]json.RawMessage
	if err := json.Unmarshal(data, &left); err != nil || left == nil {
		return nil, errors.New("the body must be a JSON object")
	}
	return &object{left: left}, nil
}

func (o *object) fault(format string, args ...any) {
	o.faults = append(o.faults, fmt.Sprintf(format, args...))
}

func (o *object) take(name string) (json.RawMessage, bool) {
	raw, there := o.left[name]
	delete(o.left, name)
	return raw, there
}

// text takes a required member that is a string of that form; rule is the form in words.
func (o *object) text(name string, form *regexp.Regexp, rule string) string {
	raw, _ := o.take(name)
	var text *string
	if json.Unmarshal(raw, &text) != nil || text == nil || !form.MatchString(*text) {
		o.fault("the member %q must be %s", name, rule)
		return ""
	}
	return *text
}

// optional is text for a member that need not be there. null is not absence.
func (o *object) optional(name string, form *regexp.Regexp, rule string) string {
	if _, there := o.left[name]; !there {
		return ""
	}
	return o.text(name, form, rule)
}

// integer takes a required member that is an integer of low to high, however it is written: 2, 2.0 and 2e0 are the same.
func (o *object) integer(name string, low, high int64, rule string) int64 {
	raw, _ := o.take(name)
	value, ok := integerOf(raw)
	if !ok || value < low || value > high {
		o.fault("the member %q must be %s", name, rule)
		return 0
	}
	return value
}

// boolean takes a required member that is true or false.
func (o *object) boolean(name string) bool {
	raw, _ := o.take(name)
	var value *bool
	if json.Unmarshal(raw, &value) != nil || value == nil {
		o.fault("the member %q must be true or false", name)
		return false
	}
	return *value
}

// integerOf is the exact value of a JSON number, if that is an integer.
func integerOf(raw json.RawMessage) (int64, bool) {
	if len(raw) == 0 || len(raw) > numberBytesMax || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	if at := bytes.IndexAny(raw, "eE"); at >= 0 {
		// Rat writes powers of ten out.
		if exponent, err := strconv.Atoi(string(raw[at+1:])); err != nil || max(exponent, -exponent) > numberBytesMax {
			return 0, false
		}
	}
	value, ok := new(big.Rat).SetString(string(raw))
	if !ok || !value.IsInt() || !value.Num().IsInt64() {
		return 0, false
	}
	return value.Num().Int64(), true
}

// err names everything that is wrong with the object, the members that were not taken included.
func (o *object) err() error {
	names := make([]string, 0, len(o.left))
	for name := range o.left {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), 3)] {
		o.fault("the member %.*q is not known here", nameBytesMax, name)
	}
	if len(o.faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(o.faults, "; "))
}
