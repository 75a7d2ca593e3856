CREATE TABLE orders (
    id           uuid        PRIMARY KEY, -- UUIDv7: the newest is the greatest
    tenant       text        NOT NULL,
    principal    text        NOT NULL,
    request_id   text,                    -- the key of an order of /api/orders: the guard that outlives the record (R1.4)
    checkout_ref text,                    -- one order per checkout (R2.12)
    order_no     text        NOT NULL UNIQUE,
    user_id      bigint,                  -- of /api/orders
    sku          text        NOT NULL,
    quantity     integer     NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    amount_cents bigint      NOT NULL,
    status       text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant, principal, request_id),
    UNIQUE (tenant, checkout_ref)
);

CREATE INDEX orders_newest ON orders (tenant, id);
