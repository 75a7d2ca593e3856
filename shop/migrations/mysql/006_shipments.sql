-- The shipping actions that were carried out: one for each of the tenant's numbers, and one for an order (R3.3).
CREATE TABLE IF NOT EXISTS shipments (
    tenant      VARCHAR(255) NOT NULL,
    action_no   VARCHAR(100) NOT NULL,
    order_id    CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL UNIQUE,
    carrier     VARCHAR(100) NOT NULL,
    tracking_no VARCHAR(100) NOT NULL,
    principal   VARCHAR(255) NOT NULL, -- who registered it
    created_at  DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (tenant, action_no)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
