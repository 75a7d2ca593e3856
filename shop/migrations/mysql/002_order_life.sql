ALTER TABLE orders
    ADD COLUMN IF NOT EXISTS round    INT     NOT NULL DEFAULT 1,     -- how often it was opened
    ADD COLUMN IF NOT EXISTS reserved BOOLEAN NOT NULL DEFAULT FALSE, -- its pieces were taken from the stock
    ADD COLUMN IF NOT EXISTS refunded_cents BIGINT NOT NULL DEFAULT 0 CHECK (refunded_cents <= amount_cents),
    ADD COLUMN IF NOT EXISTS quote_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin, -- one order per quote (R3.7)
    ADD UNIQUE KEY IF NOT EXISTS orders_quote (quote_id)
