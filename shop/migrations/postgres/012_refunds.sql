-- Money given back for an order: never more than was paid.
CREATE TABLE refunds (
    id           uuid NOT NULL PRIMARY KEY,
    tenant       text NOT NULL,
    principal    text NOT NULL,
    order_id     uuid NOT NULL,
    amount_cents bigint NOT NULL CHECK (amount_cents > 0),
    created_at   timestamptz NOT NULL DEFAULT now()
);
