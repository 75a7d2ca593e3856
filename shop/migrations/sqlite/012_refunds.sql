-- Money given back for an order: never more than was paid.
CREATE TABLE refunds (
    id           TEXT NOT NULL PRIMARY KEY,
    tenant       TEXT NOT NULL,
    principal    TEXT NOT NULL,
    order_id     TEXT NOT NULL,
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    created_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
) STRICT;
