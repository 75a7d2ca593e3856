// Package echoonce serves onceward's operations in Echo (version 4).
//
//	e.POST("/orders", echoonce.Handle(door, createOrder, placeOrder))
//	e.GET(httponce.ContractPath, echo.WrapHandler(httponce.Contract(door)))
//
// A route has its own door in the place where a handler stands, behind all middlewares: they see what the client is
// answered. A panic is answered by the door, so middleware.Recover does not see it.
package echoonce
