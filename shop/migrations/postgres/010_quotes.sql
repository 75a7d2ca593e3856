-- Prices that were promised to a user for a while (R3.7).
CREATE TABLE quotes (
    id          uuid NOT NULL PRIMARY KEY,
    tenant      text NOT NULL,
    principal   text NOT NULL,
    sku         text NOT NULL,
    quantity    integer NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    price_cents bigint NOT NULL, -- of all pieces
    expires_ms  bigint NOT NULL, -- milliseconds since 1970
    created_at  timestamptz NOT NULL DEFAULT now()
);
