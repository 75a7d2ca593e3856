-- Coupons that were issued. A reason is given once to a user; a coupon that was asked for has none.
CREATE TABLE coupons (
    id         uuid NOT NULL PRIMARY KEY,
    tenant     text NOT NULL,
    principal  text NOT NULL, -- whose it is
    campaign   text NOT NULL,
    reason     text,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant, principal, reason)
);
