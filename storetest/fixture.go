package storetest

// fixture is a harness with the words that the tests are written in.
type fixture[Tx any] struct {
	Harness[Tx]
}
