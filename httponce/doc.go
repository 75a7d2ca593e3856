// Package httponce is onceward's HTTP door: a request that carries an Idempotency-Key happens once, and every retry is
// answered with the first answer.
//
// A [Door] stands between net/http and an engine. Per request it asks, in this order: who is it ([Options].Scope, 401),
// what is the key (400), how much body is there (413), may the caller do this ([Options].Authorize, 403), is the input
// valid (400). None of these claims anything, and all of them are asked of a retry as well, so that nothing that depends
// on a record (a replay, a conflict, in flight, expired) reaches a caller who may not have it. Then the engine runs the
// handler in a transaction, and the answer is released after the commit:
//
//   - 2xx and 3xx without an error are committed, recorded and replayed
//   - an error, a written 4xx or 5xx, and [Refuse] are answered, rolled back and forgotten
//   - [Conclude] is an answer of any status that is final: committed, recorded and replayed
//
// The answer is held in memory until the commit, so Flush, Hijack and the deadlines of http.ResponseController are not
// supported, and each attempt sees a fresh request and a fresh answer. What is recorded is the status, the body, and the
// header fields that describe it: Content-Type, -Encoding, -Language, -Disposition, -Location and -Range, Location, ETag,
// Last-Modified, Link, Cache-Control and those of [Options].Headers; never Set-Cookie, Access-Control-*, Date,
// hop-by-hop fields, or what an outer middleware had put on the response.
//
// The key is a String of RFC 9651 ("abc", with the quotes) as draft-ietf-httpapi-idempotency-key-header-07 has it, or the
// same characters without quotes; both are one key.
//
// For browsers, a CORS middleware around the door allows the request fields Idempotency-Key and Content-Type
// (Access-Control-Allow-Headers) and exposes Idempotent-Replayed, Idempotency-Id, Location, Retry-After and Link
// (Access-Control-Expose-Headers). Preflights and safe methods are never claimed and need no key.
package httponce
