ALTER TABLE orders ADD COLUMN round INTEGER NOT NULL DEFAULT 1; -- how often it was opened
ALTER TABLE orders ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0; -- its pieces were taken from the stock
ALTER TABLE orders ADD COLUMN refunded_cents INTEGER NOT NULL DEFAULT 0 CHECK (refunded_cents <= amount_cents);
ALTER TABLE orders ADD COLUMN quote_id TEXT; -- one order per quote (R3.7)

CREATE UNIQUE INDEX orders_quote ON orders (quote_id);
