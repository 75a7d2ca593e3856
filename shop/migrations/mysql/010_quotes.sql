-- Prices that were promised to a user for a while (R3.7).
CREATE TABLE IF NOT EXISTS quotes (
    id          CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    tenant      VARCHAR(255) NOT NULL,
    principal   VARCHAR(255) NOT NULL,
    sku         VARCHAR(100) NOT NULL,
    quantity    INT NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    price_cents BIGINT NOT NULL, -- of all pieces
    expires_ms  BIGINT NOT NULL, -- milliseconds since 1970
    created_at  DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
