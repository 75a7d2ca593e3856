// Package rpconce is onceward's door for remote procedure calls: what gRPC and Connect have in common. Their adapters,
// grpconce and connectonce, translate requests, messages and errors; what is decided is decided here.
//
// Per call a [Door] asks, in this order: who is it ([Options].Scope, unauthenticated), what is the key (invalid argument),
// may the caller do this ([Options].Authorize, permission denied). None of these claims anything, and all of them are
// asked of a retry as well. Then the engine runs the handler in a transaction and answers after the commit:
//
//   - an answer without an error is committed, recorded and replayed
//   - an error is rolled back and forgotten; it is the handler's own, and answered as it is without the door
//   - a concluded error is final: committed, recorded and replayed
//
// The key is in the metadata, or header, "idempotency-key", in the forms that httponce takes. The meaning of a call is its
// procedure and its message, in the deterministic encoding of the Protocol Buffers library: two messages with the same
// fields are the same, in whatever order their fields and entries came. What the library does not know of a message counts
// by its bytes. The library does not promise this encoding to be the same in all its versions: a retry that meets another
// one may be refused as another meaning, and is never run twice.
//
// A replay bears the header "idempotent-replayed: true", and every answer "idempotency-id", the result's public id. Header
// and trailer fields that a handler sets are neither held nor recorded.
package rpconce
