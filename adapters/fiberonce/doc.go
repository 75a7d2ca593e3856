// Package fiberonce serves onceward's operations in Fiber (version 3).
//
//	app.Post("/orders", fiberonce.Handle(door, createOrder, placeOrder))
//	app.Get(httponce.ContractPath, adaptor.HTTPHandler(httponce.Contract(door)))
//
// Fiber stands on fasthttp, which is not net/http. What Options.Scope and Options.Authorize get is a copy of the request:
// Fiber's own adaptor would hand out memory that is used again, and keep one line of a field that came twice. What is lost:
//
//   - A caller who hangs up is not noticed: the work's context ends with its time only, and the effect stands, to be
//     replayed.
//   - Fiber reads the whole body before the door sees it, and answers one above fiber.Config.BodyLimit (4 MiB by default)
//     in its own words; the door's BodyBytesMax is asked afterwards.
//   - A multipart form is compared by what Fiber keeps of it: its fields in the order of their names, each field's values
//     in their own order.
//
// A panic is answered by the door, so middleware/recover does not see it.
package fiberonce
