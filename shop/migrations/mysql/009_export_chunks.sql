-- The parts of a report's file, in order.
CREATE TABLE IF NOT EXISTS export_chunks (
    export_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    chunk     INT NOT NULL,
    data      MEDIUMTEXT NOT NULL,
    PRIMARY KEY (export_id, chunk)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
