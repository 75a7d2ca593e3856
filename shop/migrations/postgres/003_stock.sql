-- What can be had of a SKU. A SKU without a row is unlimited.
CREATE TABLE stock (
    tenant    text NOT NULL,
    sku       text NOT NULL,
    available bigint NOT NULL CHECK (available >= 0),
    PRIMARY KEY (tenant, sku)
);
