// Package ginonce serves onceward's operations in Gin.
//
//	router.POST("/orders", ginonce.Handle(door, createOrder, placeOrder))
//	router.GET(httponce.ContractPath, gin.WrapH(httponce.Contract(door)))
//
// A route has its own door in the place where a handler stands, behind all middlewares: they see what the client is
// answered. A panic is answered by the door, so gin.Recovery does not see it.
package ginonce
