-- What can be had of a SKU. A SKU without a row is unlimited.
CREATE TABLE stock (
    tenant    TEXT NOT NULL,
    sku       TEXT NOT NULL,
    available INTEGER NOT NULL CHECK (available >= 0),
    PRIMARY KEY (tenant, sku)
) STRICT;
