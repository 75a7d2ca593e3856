ALTER TABLE orders
    ADD COLUMN round    integer NOT NULL DEFAULT 1, -- how often it was opened
    ADD COLUMN reserved boolean NOT NULL DEFAULT false, -- its pieces were taken from the stock
    ADD COLUMN refunded_cents bigint NOT NULL DEFAULT 0 CHECK (refunded_cents <= amount_cents),
    ADD COLUMN quote_id uuid    UNIQUE; -- one order per quote (R3.7)
