-- The shipping actions that were carried out: one for each of the tenant's numbers, and one for an order (R3.3).
CREATE TABLE shipments (
    tenant      text NOT NULL,
    action_no   text NOT NULL,
    order_id    uuid NOT NULL UNIQUE,
    carrier     text NOT NULL,
    tracking_no text NOT NULL,
    principal   text NOT NULL, -- who registered it
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, action_no)
);
