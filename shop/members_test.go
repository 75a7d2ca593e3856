package shop

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestCheckoutMembers(t *testing.T) {
	t.Parallel()
	for body, fault := range map[string]string{
		`{"sku":"BOOK","quantity":1}`:                            "",
		`{"sku":"a_B-9","quantity":100}`:                         "",
		`{"sku":"BOOK","quantity":2.0}`:                          "",
		`{"sku":"BOOK","quantity":2e0}`:                          "",
		`{"sku":"BOOK","quantity":0.2E+1}`:                       "",
		`{"sku":"BOOK","quantity":200e-2}`:                       "",
		`{"sku":"BOOK","quantity":2,"checkoutRef":"a.b:c-1_"}`:   "",
		`{"sku":"` + strings.Repeat("x", 40) + `","quantity":1}`: "",

		`{"sku":"` + strings.Repeat("x", 41) + `","quantity":1}`: `the member "sku" must be`,
		`{"sku":"","quantity":1}`:                                `the member "sku" must be`,
		`{"sku":"a b","quantity":1}`:                             `the member "sku" must be`,
		`{"sku":"BÖÖK","quantity":1}`:                            `the member "sku" must be`,
		`{"sku":"BOOK\n","quantity":1}`:                          `the member "sku" must be`,
		`{"sku":1,"quantity":1}`:                                 `the member "sku" must be`,
		`{"sku":null,"quantity":1}`:                              `the member "sku" must be`,
		`{"quantity":1}`:                                         `the member "sku" must be`,
		`{"sku":"BOOK"}`:                                         `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":null}`:                         `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":"2"}`:                          `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":true}`:                         `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":[2]}`:                          `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":2.5}`:                          `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":2.0000000000000000000001}`:     `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":0}`:                            `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":-1}`:                           `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":-0}`:                           `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":101}`:                          `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":1e999999999}`:                  `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":1e-999999999}`:                 `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":18446744073709551618}`:         `the member "quantity" must be`,
		`{"sku":"BOOK","quantity":2,"checkoutRef":null}`:         `the member "checkoutRef" must be`,
		`{"sku":"BOOK","quantity":2,"checkoutRef":""}`:           `the member "checkoutRef" must be`,
		`{"sku":"BOOK","quantity":2,"checkoutRef":7}`:            `the member "checkoutRef" must be`,
		`{"SKU":"BOOK","quantity":2}`:                            `the member "SKU" is not known here`,
		`{"sku":"BOOK","quantity":2,"Quantity":2}`:               `the member "Quantity" is not known here`,
		`{"sku":"BOOK","quantity":2,"price":1}`:                  `the member "price" is not known here`,
		`[]`:                                                     "the body must be a JSON object",
		`1`:                                                      "the body must be a JSON object",
	} {
		checkFault(t, body, new(checkout), fault)
	}
}

func TestPurchaseMembers(t *testing.T) {
	t.Parallel()
	for body, fault := range map[string]string{
		`{"userId":1,"skuId":9001,"quantity":2}`:                  "",
		`{"userId":1.0,"skuId":9001e0,"quantity":2}`:              "",
		`{"userId":9223372036854775807,"skuId":1,"quantity":100}`: "",

		`{"userId":9223372036854775808,"skuId":1,"quantity":1}`: `the member "userId" must be`,
		`{"userId":0,"skuId":1,"quantity":1}`:                   `the member "userId" must be`,
		`{"userId":"1","skuId":1,"quantity":1}`:                 `the member "userId" must be`,
		`{"skuId":1,"quantity":1}`:                              `the member "userId" must be`,
		`{"userId":1,"skuId":-1,"quantity":1}`:                  `the member "skuId" must be`,
		`{"userId":1,"skuId":1.5,"quantity":1}`:                 `the member "skuId" must be`,
		`{"userId":1,"skuId":1}`:                                `the member "quantity" must be`,
		`{"userId":1,"skuId":1,"quantity":101}`:                 `the member "quantity" must be`,
		`{"userId":1,"skuId":1,"quantity":1,"sku":"B"}`:         `the member "sku" is not known here`,
	} {
		checkFault(t, body, new(purchase), fault)
	}
}

func checkFault(t *testing.T, body string, into json.Unmarshaler, fault string) {
	t.Helper()
	err := into.UnmarshalJSON([]byte(body))
	if fault == "" && err != nil || fault != "" && (err == nil || !strings.Contains(err.Error(), fault)) {
		t.Errorf("%s: got %v, want %q", body, err, fault)
	}
}

// A number's exponent is not written out: a body of a few bytes must not cost a tenth of a second.
func TestAHugeExponentCostsNothing(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for range 200 {
		if _, ok := integerOf(json.RawMessage("7e-999999")); ok {
			t.Fatal("it is no integer")
		}
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("200 numbers took %v", took)
	}
}

// FuzzIntegerOf compares with what encoding/json says of the same text.
func FuzzIntegerOf(f *testing.F) {
	for _, seed := range []string{"1", "-1", "2.0", "2e0", "1e400", "0.5", "9223372036854775807", "9223372036854775808", "true", `"1"`, ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := integerOf(json.RawMessage(text))
		var plain int64
		if json.Unmarshal([]byte(text), &plain) == nil && text != "null" && len(text) == len(strings.TrimSpace(text)) && len(text) <= numberBytesMax && (!ok || got != plain) {
			t.Errorf("%q: got %d, %v, want %d", text, got, ok, plain)
		}
	})
}
