// Package jcstest compares the canonical JSON of package fingerprint with
// RFC 8785 (JCS), by a library of other hands. It is a module of its own so that
// the library is no requirement of onceward. It holds tests only.
package jcstest
