// Package conform says what an HTTP service owes the callers that send it an Idempotency-Key, as cases: requests, and what
// each has to be answered. The cases are data; [Case.Run] plays one over HTTP against a service in whatever language.
//
// The service under test is small. It knows its callers by the field Authorization ("Bearer alice" and so on; who has none
// is not known, and who sends the field Suspended may not do anything), puts the CORS fields Access-Control-Allow-Origin (the request's Origin) and
// Vary: Origin on every answer, outside of what makes its requests happen once, and serves
//
//	POST /orders          a duplicate of a request that runs is told so at once
//	POST /patient/orders  another operation; a duplicate waits for the request that runs, at least ten seconds
//	PUT  /orders/{id}     a third; a duplicate is told at once
//
// by one handler, for all methods. It reads an [Order] and makes one effect under the order's Reference, in the
// transaction that also records its answer; then it does what Order.Do says and answers. A service in Go has [Stage.Play]
// for that, and [Stage.Begin] for the effects where it has no database. Beside them it serves its contract at
// /.well-known/idempotency, and has the bounds that this package names.
package conform
