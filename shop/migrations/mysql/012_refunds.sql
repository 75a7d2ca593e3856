-- Money given back for an order: never more than was paid.
CREATE TABLE IF NOT EXISTS refunds (
    id           CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    tenant       VARCHAR(255) NOT NULL,
    principal    VARCHAR(255) NOT NULL,
    order_id     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    amount_cents BIGINT NOT NULL CHECK (amount_cents > 0),
    created_at   DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
