-- Texts are compared as they are: neither case nor a space at the end is overlooked.
CREATE TABLE IF NOT EXISTS orders (
    id           CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY, -- UUIDv7: the newest is the greatest
    tenant       VARCHAR(255) NOT NULL,
    principal    VARCHAR(255) NOT NULL,
    request_id   VARCHAR(128),                         -- the key of an order of /api/orders: the guard that outlives the record (R1.4)
    checkout_ref VARCHAR(255),                         -- one order per checkout (R2.12)
    order_no     VARCHAR(40)  NOT NULL UNIQUE,
    user_id      BIGINT,                               -- of /api/orders
    sku          VARCHAR(40)  NOT NULL,
    quantity     INT          NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    amount_cents BIGINT       NOT NULL,
    status       VARCHAR(40)  NOT NULL,
    created_at   DATETIME(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    UNIQUE (tenant, principal, request_id),
    UNIQUE (tenant, checkout_ref),
    KEY orders_newest (tenant, id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
