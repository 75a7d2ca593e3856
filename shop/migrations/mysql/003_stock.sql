-- What can be had of a SKU. A SKU without a row is unlimited.
CREATE TABLE IF NOT EXISTS stock (
    tenant    VARCHAR(255) NOT NULL,
    sku       VARCHAR(100) NOT NULL,
    available BIGINT NOT NULL CHECK (available >= 0),
    PRIMARY KEY (tenant, sku)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin
