// Package onceclient sends a write once, however often it has to be sent.
//
// An intent (this order, this payment) gets one key, before it is sent for the first time; it is kept with what is to be sent,
// so that a restarted program goes on with it, and every attempt carries it:
//
//	key := onceclient.NewKey() // once for the intent; store it with the order
//	ctx = onceclient.WithKey(ctx, key)
//	response, err := client.Post(…) // client.Transport is a *Transport
//
// The transport sends a request that changes something (POST, PUT, PATCH, DELETE) only with a key, and repeats it with the
// same key where that may help: when the connection failed or no answer came, at 408, 425, 429, 502, 503 and 504, and at a
// 409 that says that the first attempt still runs. Other answers are final, 500 among them: what failed there is likely to
// fail again. It waits with exponential backoff and jitter, or as long as Retry-After says, within a budget.
//
// A call that was cancelled or had no answer in time is neither a success nor a failure: an error that matches ErrUnknown says
// so. Send the same intent again with the same key to learn what became of it.
package onceclient
