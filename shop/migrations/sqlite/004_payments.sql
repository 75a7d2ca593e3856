-- What a channel has told us was paid: once for each of its numbers (R3.1).
CREATE TABLE payments (
    id           TEXT NOT NULL PRIMARY KEY,
    tenant       TEXT NOT NULL,
    channel      TEXT NOT NULL,
    merchant_id  TEXT NOT NULL,
    payment_no   TEXT NOT NULL,
    order_id     TEXT NOT NULL,
    amount_cents INTEGER NOT NULL,
    created_at   TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    UNIQUE (tenant, channel, merchant_id, payment_no)
) STRICT;
