package fingerprint_test

import (
	"errors"
	"fmt"

	"github.com/onceward/onceward/fingerprint"
)

func ExampleFingerprint_Same() {
	stored, err := fingerprint.Of(fingerprint.JSON([]byte(`{"sku":"A-1","amount":12.50}`)))
	if err != nil {
		panic(err)
	}
	retry := fingerprint.JSON([]byte(`{ "amount": 12.5, "sku": "A\u002d1" }`))
	other := fingerprint.JSON([]byte(`{ "amount": 12.51, "sku": "A-1" }`))
	fmt.Println(stored.Same(retry))
	fmt.Println(stored.Same(other))
	// Output:
	// true <nil>
	// false <nil>
}

func ExampleValue() {
	type order struct {
		SKU   string `json:"sku"`
		Count int    `json:"count"`
	}
	meaning, err := fingerprint.Value(order{SKU: "A-1", Count: 3})
	if err != nil {
		panic(err)
	}
	stored, err := fingerprint.Of(meaning)
	if err != nil {
		panic(err)
	}
	fmt.Println(stored.Same(fingerprint.JSON([]byte(`{"count":3,"sku":"A-1"}`))))
	// Output: true <nil>
}

func ExampleError() {
	_, err := fingerprint.Of(fingerprint.JSON([]byte(`{"amount":1,"amount":1000}`)))
	fmt.Println(err)
	fmt.Println(errors.Is(err, fingerprint.ErrMalformed))
	// Output:
	// fingerprint: malformed input: json: duplicate member at byte 12
	// true
}

// A service stops counting when a request was sent. Records of the time before
// are still verified by the rule that wrote them.
func ExampleRequest() {
	counted := fingerprint.Rule{Version: 1}
	ignored := fingerprint.Rule{Version: 2, Ignore: []string{"/sentAt"}}
	request := func(body string, rules ...fingerprint.Rule) *fingerprint.Request {
		return &fingerprint.Request{
			Method:      "POST",
			Operation:   "create-order.v1",
			ContentType: "application/json",
			Body:        []byte(body),
			Rules:       rules,
		}
	}
	old, err := fingerprint.Of(request(`{"n":1,"sentAt":"10:00"}`, counted))
	if err != nil {
		panic(err)
	}
	fmt.Println(old.Same(request(`{"sentAt":"10:00","n":1}`, ignored, counted)))
	fmt.Println(old.Same(request(`{"sentAt":"10:01","n":1}`, ignored, counted)))

	fresh, err := fingerprint.Of(request(`{"n":1,"sentAt":"10:00"}`, ignored, counted))
	if err != nil {
		panic(err)
	}
	fmt.Println(fresh.Same(request(`{"sentAt":"10:01","n":1}`, ignored, counted)))
	// Output:
	// true <nil>
	// false <nil>
	// true <nil>
}
