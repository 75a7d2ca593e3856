-- What a channel has told us was paid: once for each of its numbers (R3.1).
CREATE TABLE IF NOT EXISTS payments (
    id           CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    tenant       VARCHAR(255) NOT NULL,
    channel      VARCHAR(100) NOT NULL,
    merchant_id  VARCHAR(100) NOT NULL,
    payment_no   VARCHAR(100) NOT NULL,
    order_id     CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    amount_cents BIGINT NOT NULL,
    created_at   DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    UNIQUE (tenant, channel, merchant_id, payment_no)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
