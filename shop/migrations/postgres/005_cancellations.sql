-- The log of cancellations: one for each round of an order (R3.2).
CREATE TABLE cancellations (
    order_id   uuid NOT NULL,
    round      integer NOT NULL,
    tenant     text NOT NULL,
    principal  text NOT NULL, -- who cancelled it
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (order_id, round)
);
