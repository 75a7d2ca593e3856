-- The shipping actions that were carried out: one for each of the tenant's numbers, and one for an order (R3.3).
CREATE TABLE shipments (
    tenant      TEXT NOT NULL,
    action_no   TEXT NOT NULL,
    order_id    TEXT NOT NULL UNIQUE,
    carrier     TEXT NOT NULL,
    tracking_no TEXT NOT NULL,
    principal   TEXT NOT NULL, -- who registered it
    created_at  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    PRIMARY KEY (tenant, action_no)
) STRICT;
