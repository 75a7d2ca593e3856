// Package chi shows that chi needs no adapter: its handlers are those of net/http, and what httponce returns is one. Path values,
// sub-routers and middlewares are chi's; the transaction is the handler's argument as everywhere. The example and the suite of
// the adapters run here on chi's router, in memory and on SQLite. There is nothing to import.
package chi
