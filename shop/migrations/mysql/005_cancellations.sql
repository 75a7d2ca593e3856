-- The log of cancellations: one for each round of an order (R3.2).
CREATE TABLE IF NOT EXISTS cancellations (
    order_id   CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    round      INT NOT NULL,
    tenant     VARCHAR(255) NOT NULL,
    principal  VARCHAR(255) NOT NULL, -- who cancelled it
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    PRIMARY KEY (order_id, round)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
