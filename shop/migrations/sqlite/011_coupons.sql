-- Coupons that were issued. A reason is given once to a user; a coupon that was asked for has none.
CREATE TABLE coupons (
    id         TEXT NOT NULL PRIMARY KEY,
    tenant     TEXT NOT NULL,
    principal  TEXT NOT NULL, -- whose it is
    campaign   TEXT NOT NULL,
    reason     TEXT,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ')),
    UNIQUE (tenant, principal, reason)
) STRICT;
