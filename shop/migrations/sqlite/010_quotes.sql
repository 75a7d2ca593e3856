-- Prices that were promised to a user for a while (R3.7).
CREATE TABLE quotes (
    id          TEXT NOT NULL PRIMARY KEY,
    tenant      TEXT NOT NULL,
    principal   TEXT NOT NULL,
    sku         TEXT NOT NULL,
    quantity    INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    price_cents INTEGER NOT NULL, -- of all pieces
    expires_ms  INTEGER NOT NULL, -- milliseconds since 1970
    created_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
) STRICT;
