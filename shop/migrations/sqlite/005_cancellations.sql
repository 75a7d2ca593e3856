-- The log of cancellations: one for each round of an order (R3.2).
CREATE TABLE cancellations (
    order_id   TEXT NOT NULL,
    round      INTEGER NOT NULL,
    tenant     TEXT NOT NULL,
    principal  TEXT NOT NULL, -- who cancelled it
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    PRIMARY KEY (order_id, round)
) STRICT;
