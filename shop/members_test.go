package shop

import (
	"encoding/json"
	"strings"
	"testing"
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

		`{"sku":"` + strings.Repeat("x", 41) + `","quantity":1}`: "sku must be",
		`{"sku":"","quantity":1}`:                                "sku must be",
		`{"sku":"a b","quantity":1}`:                             "sku must be",
		`{"sku":"BÖÖK","quantity":1}`:                            "sku must be",
		`{"sku":"BOOK\n","quantity":1}`:                          "sku must be",
		`{"sku":1,"quantity":1}`:                                 "sku must be",
		`{"sku":null,"quantity":1}`:                              "sku must be",
		`{"quantity":1}`:                                         "sku must be",
		`{"sku":"BOOK"}`:                                         "quantity must be",
		`{"sku":"BOOK","quantity":null}`:                         "quantity must be",
		`{"sku":"BOOK","quantity":"2"}`:                          "quantity must be",
		`{"sku":"BOOK","quantity":true}`:                         "quantity must be",
		`{"sku":"BOOK","quantity":[2]}`:                          "quantity must be",
		`{"sku":"BOOK","quantity":2.5}`:                          "quantity must be",
		`{"sku":"BOOK","quantity":2.0000000000000000000001}`:     "quantity must be",
		`{"sku":"BOOK","quantity":0}`:                            "quantity must be",
		`{"sku":"BOOK","quantity":-1}`:                           "quantity must be",
		`{"sku":"BOOK","quantity":-0}`:                           "quantity must be",
		`{"sku":"BOOK","quantity":101}`:                          "quantity must be",
		`{"sku":"BOOK","quantity":1e999999999}`:                  "quantity must be",
		`{"sku":"BOOK","quantity":1e-999999999}`:                 "quantity must be",
		`{"sku":"BOOK","quantity":18446744073709551618}`:         "quantity must be",
		`{"sku":"BOOK","quantity":2,"checkoutRef":null}`:         "checkoutRef must be",
		`{"sku":"BOOK","quantity":2,"checkoutRef":""}`:           "checkoutRef must be",
		`{"sku":"BOOK","quantity":2,"checkoutRef":7}`:            "checkoutRef must be",
		`{"SKU":"BOOK","quantity":2}`:                            `"SKU" is not a member`,
		`{"sku":"BOOK","quantity":2,"Quantity":2}`:               `"Quantity" is not a member`,
		`{"sku":"BOOK","quantity":2,"price":1}`:                  `"price" is not a member`,
		`[]`:                                                     "must be a JSON object",
		`1`:                                                      "must be a JSON object",
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

		`{"userId":9223372036854775808,"skuId":1,"quantity":1}`: "userId must be",
		`{"userId":0,"skuId":1,"quantity":1}`:                   "userId must be",
		`{"userId":"1","skuId":1,"quantity":1}`:                 "userId must be",
		`{"skuId":1,"quantity":1}`:                              "userId must be",
		`{"userId":1,"skuId":-1,"quantity":1}`:                  "skuId must be",
		`{"userId":1,"skuId":1.5,"quantity":1}`:                 "skuId must be",
		`{"userId":1,"skuId":1}`:                                "quantity must be",
		`{"userId":1,"skuId":1,"quantity":101}`:                 "quantity must be",
		`{"userId":1,"skuId":1,"quantity":1,"sku":"B"}`:         `"sku" is not a member`,
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
