package onceclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/onceward/onceward/onceclient"
)

// An order is sent until it is answered; the first attempt loses its connection.
func Example() {
	attempts := 0
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if attempts++; attempts == 1 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer service.Close()
	transport, err := onceclient.New(onceclient.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: transport}

	key := onceclient.NewKey() // kept with the order, before it is sent
	ctx := onceclient.WithKey(context.Background(), key)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, service.URL+"/orders", strings.NewReader(`{"sku":"BOOK"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	response, err := client.Do(request)
	if err != nil {
		fmt.Println(err) // errors.Is(err, onceclient.ErrUnknown): send it again, with the same key
		return
	}
	defer func() { _ = response.Body.Close() }()
	fmt.Println(response.StatusCode, "after", attempts, "attempts")
	// Output: 201 after 2 attempts
}
