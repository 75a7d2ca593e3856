CREATE TABLE orders (
    id           TEXT    NOT NULL PRIMARY KEY, -- UUIDv7 as text: the newest is the greatest
    tenant       TEXT    NOT NULL,
    principal    TEXT    NOT NULL,
    request_id   TEXT,                         -- the key of an order of /api/orders: the guard that outlives the record (R1.4)
    checkout_ref TEXT,                         -- one order per checkout (R2.12)
    order_no     TEXT    NOT NULL UNIQUE,
    user_id      INTEGER,                      -- of /api/orders
    sku          TEXT    NOT NULL,
    quantity     INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    amount_cents INTEGER NOT NULL,
    status       TEXT    NOT NULL,
    created_at   TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    UNIQUE (tenant, principal, request_id),
    UNIQUE (tenant, checkout_ref)
) STRICT;

CREATE INDEX orders_newest ON orders (tenant, id);
