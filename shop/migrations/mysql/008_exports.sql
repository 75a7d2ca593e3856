-- Reports that are being written, or were (R3.5).
CREATE TABLE IF NOT EXISTS exports (
    id         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    tenant     VARCHAR(255) NOT NULL,
    principal  VARCHAR(255) NOT NULL,
    report     VARCHAR(100) NOT NULL,
    month      VARCHAR(100) NOT NULL, -- 2026-12
    format     VARCHAR(100) NOT NULL,
    state      VARCHAR(100) NOT NULL, -- running, completed or failed
    total      BIGINT NOT NULL, -- rows to write
    written    BIGINT NOT NULL, -- of them
    chunk      INT NOT NULL, -- of export_chunks, the last
    position   CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, -- the order that was written last
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
