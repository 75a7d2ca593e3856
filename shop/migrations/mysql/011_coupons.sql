-- Coupons that were issued. A reason is given once to a user; a coupon that was asked for has none.
CREATE TABLE IF NOT EXISTS coupons (
    id         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    tenant     VARCHAR(255) NOT NULL,
    principal  VARCHAR(255) NOT NULL, -- whose it is
    campaign   VARCHAR(100) NOT NULL,
    reason     VARCHAR(100),
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    UNIQUE (tenant, principal, reason)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
