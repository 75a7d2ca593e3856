package dbtest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		startServersAndHang()
	}
	Main(m)
}

// must returns the value of a call that has to succeed for the test to mean anything.
func must[T any](tb testing.TB) func(T, error) T {
	return func(value T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return value
	}
}
