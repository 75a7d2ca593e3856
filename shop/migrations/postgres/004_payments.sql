-- What a channel has told us was paid: once for each of its numbers (R3.1).
CREATE TABLE payments (
    id           uuid NOT NULL PRIMARY KEY,
    tenant       text NOT NULL,
    channel      text NOT NULL,
    merchant_id  text NOT NULL,
    payment_no   text NOT NULL,
    order_id     uuid NOT NULL,
    amount_cents bigint NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant, channel, merchant_id, payment_no)
);
