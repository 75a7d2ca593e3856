-- Things to do.
CREATE TABLE IF NOT EXISTS tasks (
    id         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    tenant     VARCHAR(255) NOT NULL,
    principal  VARCHAR(255) NOT NULL,
    title      VARCHAR(255) NOT NULL,
    created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
